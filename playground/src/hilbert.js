// The Hilbert curve of a square whose side is a power of two. Neighbours on the curve are neighbours in the square.

// The side of the smallest such square with at least `count` cells.
export function sideFor(count) {
  let side = 1;
  while (side * side < count) side *= 2;
  return side;
}

// Hamilton, "Compact Hilbert indices", 2006; here the iterative form for two dimensions.
export function cellOf(side, index) {
  let [x, y] = [0, 0];
  for (let size = 1, rest = index; size < side; size *= 2, rest = Math.floor(rest / 4)) {
    const right = 1 & (rest >> 1);
    const up = 1 & (rest ^ right);
    if (up === 0) {
      if (right === 1) [x, y] = [size - 1 - x, size - 1 - y];
      [x, y] = [y, x];
    }
    x += size * right;
    y += size * up;
  }
  return [x, y];
}

// For each index the offset `y * side + x` of its cell.
export function curve(side) {
  const cells = new Uint32Array(side * side);
  for (let index = 0; index < cells.length; index++) {
    const [x, y] = cellOf(side, index);
    cells[index] = y * side + x;
  }
  return cells;
}
