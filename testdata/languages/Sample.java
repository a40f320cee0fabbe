/* A bit of everything that the grammar of Java knows. */
@Deprecated package a.b;

import java.util.*;
import static java.lang.Math.max;

@FunctionalInterface sealed interface Shape<T extends Comparable<? super T> & Runnable> permits Circle { double area(); default T x() { return null; } }
public sealed abstract class Sample<K, V extends Map<K, List<V>>> extends Base<K>.Inner<V> implements A, B<int[]> permits C {
    private static final int[] TABLE[] = { { 1, 0x1F_FFL }, {}, }, other = new int[3];
    volatile long big = 0b1010L + 1_000 - 077, record = 1;
    double d = 1., e = .5e-3f, f = 0x1.8p1, g = 1e10d;
    char c = '\'', u = '\u00e9', o = '\377';
    String text = """
        a "quoted" text \
        with ""\" quotes
        """, s = "tab\t" + c;
    static { System.out.println(TABLE.length); }
    { big++; }
    ;

    enum Color implements Runnable { RED(1) { public void run() {} }, @Deprecated GREEN, ; Color(int... x) { this(); } public void run() {} }
    record Point<T>(int x, @NonNull T... y) implements Comparable<Point<T>> { Point { assert x > 0 : "no"; } static int z; }
    @interface Marker { String value() default "x"; int[] numbers() default { 1, 2 }; }
    non-sealed class Inner extends Sample<String, ?> {}

    protected <T> Sample(final T first, int[]... rest) throws E1, a.E2 { super(first); }
    abstract int unused()[];
    @Marker(value = "a", numbers = { 1, 2, }) synchronized native void run(Sample<K, V> this);

    @SuppressWarnings("unchecked") <T extends Enum<T>> List<? extends Map<K, List<T>>> method(int a, long b) {
        List<List<Integer>> lists = new ArrayList<>(), more[] = null;
        Map<String, Map<K, List<V>>> deep = new HashMap<String, Map<K, List<V>>>() {{ put("a", null); }};
        final var x = (Integer) (Object) a + (int) -b - (a) * ~b;
        int y = a < b ? (int) b >>> 2 : a >> 1 << 3;
        boolean both = (a < b) == true && a <= x || !(x instanceof Integer) ^ x instanceof String str && str.isEmpty();
        Runnable r = () -> {}, r2 = (Runnable) () -> run(), r3 = (a < b) ? null : this::run;
        Function<Integer, Integer> f1 = v -> v + 1, f2 = (v) -> { return v; }, f3 = (Integer v) -> v, f4 = (final int v) -> -v;
        BiFunction<A, List<B>, C> f5 = (p, q) -> p, f6 = (A p, List<B> q) -> p, f7 = int[]::new, f8 = Outer.super::<T>call;
        Object cast = (Comparator<T> & Serializable) (p, q) -> 0, array = (List<String>[]) null, k = (Map<K, V>) x;
        outer:
        for (int i = 0, j = 1; i < 10; i++, --j) { if (i == 2) continue outer; else break; }
        for (final Map.Entry<String, List<Integer>> entry : deep.entrySet()) ;
        for (;;) { do y -= 1; while (y > 0); while (true) { break outer; } }
        switch (a) { case 1: case 2: y = 1; break; default: { return null; } }
        int z = switch (s) { case "a", "b" -> 1; case RED -> { yield 2; } default -> throw new E(); };
        switch (z) { case 1 -> run(); default -> {} }
        try (var in = open(); in; this.out) { throw new IllegalStateException("x", null); }
        catch (final E1 | E2 ex) { ex.printStackTrace(); } finally { synchronized (this) { y = -1; } }
        int record = 1, module = record + with; record = 2; record.x(); yield.y = 3;
        record Local(int x) {}
        abstract class L {} interface I {}
        a.b.<T>call(1).field[2].new Inner<>(3).super_(); Outer.this.x = int[].class; new int[2][y][].clone();
        ((Sample<?, ?>) this).run(); (x).y(); super.run(); Collections.<String>emptyList();
        assert y > 0; ;
        return a > b ? null : lists.isEmpty() ? null : null;
    }
}
