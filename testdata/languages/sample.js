#!/usr/bin/env node
// A bit of everything that the grammar of JavaScript knows.
'use strict'
import fs, { readFile as read, default as d, } from 'fs'
import * as path from "path"; import 'side-effect'
export * from './a.js'; export * as b from './b.js'
export { x as w, y, z as 'string' } from './c.js'
export default class extends Base { }
export const one = 1, { two, three: [, four = 4, ...five], ...rest } = object

const numbers = [0, 1_000, .5, 1.e3, 0xFF, 0b10, 0o17, 10n, , ...more, ]
let regex = /[/\]]\/+/giu, half = numbers.length / 2 / one, text = `a ${numbers
  .map(n => { return `<${n}>` }).join(`,`)} b $ {`
var undefined_
if (a) b
else if (c) { d() } else
  e = f

async function* generate({ a, b: { c } = {} }, [d, ...e], f = 1, ...g) {
  for await (const x of y) yield* x
  for (let i = 0, n = 1; i < n; i++, --n) continue
  for (;;) { break }
  for (const key in object) { delete object[key] }
  for (x.y of z) ;
  label: while (true) { break label }
  do a++; while (a < 3) b--
  return
  await a
}

class Shape extends (mixin(Base)) {
  #side = 1
  static count = 0; static { Shape.count = 1 }
  'quoted'
  constructor(...args) { super(...args); this.#side ??= 2 }
  get area() { return this.#side ** 2 } set area(value) {}
  static async *[Symbol.iterator]() { yield 1; yield }
  delete(get, set) { return #side in this }
  static = 1
  last
}

const object = {
  a, b: 1, 'c': 2, 3: 4, [d + e]: 5, ...f,
  g() { return 1 }, get h() { return 2 }, set h(v) {}, async i() {}, *j() {}, async *k() {}, if: 1, get: 2, async: 3,
  l: async (x) => { await x }, m: async y => y, n: function () {}, o: (a, b = 1, ...c) => ({ a }), p: () => ([]), q: ({ a = 1 }) => a,
}
const chained = promise
  .then(function (x) { return x })
  ?.catch?.[0]?.(() => {})
  // a comment between
  && !((a || b) ?? c)
  ? typeof void 0
  : new Date().getTime() + new this.constructor
try { throw new Error('x') } catch { } finally { }
try { f() } catch ({ message }) { console.log(message, `\``, a?.b) }
switch (x) { case 1: case 'a': y(); break; default: z() }
(function () { return regex.test("a\
b") })()
;[1, 2].forEach((x) => console.log(x));
a = b ? c : d, e >>>= 1, f = async
g = x instanceof Y in z
debugger; if (a) { b } else { c }
import.meta.url; import('x').then(({ default: y }) => y); function f() { return new.target }
