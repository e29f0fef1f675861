// The surroundings of the functions of flow tests: their `fetch` reaches the scripted vendors, or nothing while they are loaded, a TCP
// connection is refused, and `Date` has the time of the test. Code outside of a test is not affected.

import { AsyncLocalStorage } from 'node:async_hooks'
import { Socket } from 'node:net'
import type { ScriptedVendors } from './scripted-vendors.ts'

interface Surroundings {
  readonly fetch: ScriptedVendors['fetch']
  /** The time of the test; left out: the machine's. */
  now?(): number
}

const current = new AsyncLocalStorage<Surroundings>()
let guards = 0
let restore = () => {}

/** In place until the returned function is called, once. */
export function guardNetwork(): () => void {
  guards += 1
  if (guards === 1) restore = replace()
  return () => {
    guards -= 1
    if (guards === 0) restore()
  }
}

/** Runs a function of a test: what it fetches is answered by the vendors of that test, and its time is the test's. */
export function withVendors<Value>(surroundings: Surroundings, run: () => Value): Value {
  return current.run(surroundings, run)
}

/** Runs code that loads the functions of tests: no test is there whose vendors could answer. */
export function withoutVendors<Value>(run: () => Value): Value {
  return current.run({ fetch: refuse }, run)
}

function refuse(input: Parameters<typeof fetch>[0]): never {
  const address = input instanceof Request ? input.url : String(input)
  // Thrown, not a rejected promise: a file that does not wait for it would end the process.
  throw new Error(`fetch of ${address} at the top of a file: call other systems inside the function`)
}

function replace(): () => void {
  const { fetch: realFetch, Date: RealDate } = globalThis
  const { connect } = Socket.prototype
  const now = () => current.getStore()?.now?.() ?? RealDate.now()
  globalThis.Date = new Proxy(RealDate, {
    // `Date()` is a text.
    apply: () => new RealDate(now()).toString(),
    construct: (target, args, made) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, made as NewableFunction),
    get: (target, name, receiver) => (name === 'now' ? now : Reflect.get(target, name, receiver)),
  })
  globalThis.fetch = (input, init) => (current.getStore()?.fetch ?? realFetch)(input, init)
  Socket.prototype.connect = function (this: Socket, ...args: unknown[]) {
    if (current.getStore() === undefined)
      return (connect as (...given: unknown[]) => Socket).apply(this, args)
    throw new Error('a function in a test uses no network: call other systems with fetch or a connection')
  } as Socket['connect']
  return () => {
    globalThis.fetch = realFetch
    globalThis.Date = RealDate
    Socket.prototype.connect = connect
  }
}
