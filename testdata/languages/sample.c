/* A bit of everything that the grammar of C knows. */
#include <inttypes.h>
#define LARGER(a, b) \
    ((a) > (b) ? (a) : (b))  // Of two.
#if defined(DEBUG) && LEVEL > 1
typedef unsigned size_type;
#else
typedef unsigned long size_type;
#endif
typedef int (*comparison)(const void *, const void *), vector[4];
typedef struct list { struct list *next; int value : 3, : 0; union { int a; float b; }; } list_t;
enum color { RED = 1, GREEN, BLUE = RED << 2,
#ifdef COLORS
    CYAN,
#endif
};
extern int printf(const char *restrict format, ...);
static inline _Noreturn void stop(void);
_Static_assert(sizeof(int) >= 2, "small" "int");
_Alignas(16) static _Thread_local char buffer[1 << 4] = { 0 };
static const double values[] = { 1., .5e-3, 0x1.8p+1, 1e10f };
struct point { int x, y; } origin = { .x = 0, .y = 1 }, grid[2][2] = { [0] = { [1].y = 2 } };
size_type length(list_t *l), *lengths(int n, list_t *const ls[static n]);
int (*table[3])(int), (*choose(int which))(int);

int old(a, b) int a; char *b; { return a + *b; }

static list_t *find(list_t *l, comparison compare, const void *key)
{
    size_type count = 0, *counter = &count;
    list_t *const start = l, **end = 0;
    unsigned char bits = (unsigned char)~0u;
    vector v = { 1, 2 };
    for (list_t *p = l; p != 0; p = p->next, ++*counter)
        if (compare(p, key) == 0)
            return p;
        else
            continue;
    for (;;) {
        switch (bits & 0x0F) {
        case 'a': case '\x41': case L'\'':
            break;
        default:
            goto done;
        }
        while (count--) ;
        do { bits <<= 1, bits |= count > 3 ? 1 : 0; } while (bits);
    }
done:
    count * 2;
    (void)printf("%zu" "\n", (size_type)count, sizeof(list_t), sizeof *l, _Alignof(double));
    return (list_t *)((char *)l - __builtin_offsetof(list_t, next));
}

int main(int argc, char *argv[argc + 1])
{
    struct point p = (struct point){ 1, 2 }, *q = &(struct point){ .y = 3 };
    int (*f)(int, char **) = (int (*)(int, char **))main;
    comparison c = (comparison)0;
    void *m = (void *)-1, *n = (size_type *)(buffer) + 1;
    int sum = (int)-p.x + (int)q->y - (argc) + (*f)(argc, argv) * -1;
#ifndef DEBUG
    printf("%" PRId64 "\n", (int64_t)LARGER(sum, 1));
#elif LEVEL
    return 1;
#endif
    sum += _Generic(sum, int: 1, char *: 2, size_type: 3, default: 4);
    _Atomic(int) atom = 1; _Atomic int other;
    __builtin_va_list list; int i = (__builtin_va_arg(list, int *)[0])++, j = !i && ~sum;
    vector *w = (vector *)n; (*w)[1] = i ? j, 2 : 3;
    { typedef int inner; inner x = 1; const inner y = x; inner const *z = &y; (void)z; }
    return (argc > 1) ? -1 : (int)sizeof(int[3]) / (int)(sizeof(int));
}
