// Package sample holds a bit of everything that the grammar of Go knows.
package sample

import "fmt"
import (
	. "math"
	str "strings"

	_ "embed"
)

const Pi2, mask = 3.14e0 * 2, 0x_ff &^ 0b101
const (
	first = iota << 1
	second
	third string = `raw
string` + "\u00e9\n"
)

var (
	table = map[string][]int{"a": {1, 2}, "b": nil}
	point = &struct{ X, Y int }{X: 1, Y: 2}
)
var empty chan<- int
var r rune = '\''

type (
	Name          = string
	Pair[K comparable, V any] struct {
		Key K `json:"key"`
		*Node
		str.Builder
		List[V]
		a, b [4]V
	}
	Node struct{}
)
type Number interface {
	~int | ~float64
	String() string
	fmt.Stringer
}
type Matrix [Size * 2][]float64
type Set[T interface{ ~[]byte }] map[string]T
type Handler func(w int, args ...string) (n int, err error)

func (p *Pair[K, V]) Get(key K) (value V, ok bool) {
	if v, ok := p.find(key); ok && v != nil {
		return *v, true
	} else if p == nil {
		panic("none")
	} else {
		return
	}
}

func Map[T, U any](in []T, f func(T) U) []U {
	out := make([]U, 0, len(in))
	for _, x := range in {
		out = append(out, f(x))
	}
	for i := 0; i < len(in); i++ {
		if i%2 == 0 {
			continue
		}
	}
	for range 3 {
	}
	for {
		break
	}
	return out
}

func main() {
	defer func() { recover() }()
	x, y := 1, 2.5i
	x, _ = x+1, y
	x <<= 2 /* a comment
	that ends the line */
	label:
	for x > 0 {
		switch z := x * 2; {
		case z > 3, z < 1:
			fallthrough
		default:
			break label
		}
		goto label
	}
	switch v := any(x).(type) {
	case nil, *int:
	case func(int) string, []byte, map[string]int, chan int, <-chan bool:
		_ = v
	}
	ch := make(chan int, 1)
	select {
	case ch <- 1:
	case v, ok := <-ch:
		fmt.Println(v, ok,
			table["a"][0:1:2][:],
		)
	default:
	}
	go Map[int, string]([]int{1, 2}, func(i int) string {
		return fmt.
			Sprint(i)
	})
	if (Pair[int, int]{Key: 1}).Key == 1 {
		x++
	}
	for _, p := range []struct{ a int }{{1}, {a: 2}} {
		_ = p
	}
	var f interface{} = [...]string{2: "c", "d"}
	_, _ = f.(fmt.Stringer), (*Node)(nil); x--
}
