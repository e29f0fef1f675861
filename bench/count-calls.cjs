// Loaded before everything else in each thread of a server whose promises and SQLite statements are counted (`--require`). Counting
// costs time, so such a run measures nothing else.

const { createRequire, syncBuiltinESMExports } = require('node:module')
const { dirname, join } = require('node:path')
const { promiseHooks } = require('node:v8')
const threads = require('node:worker_threads')

const { getEnvironmentData, isMainThread, setEnvironmentData } = threads

const NAME = 'bench.counts'
const [PROMISES, STATEMENTS] = [0, 1]

if (isMainThread) setEnvironmentData(NAME, new BigInt64Array(new SharedArrayBuffer(16)))
const counts = getEnvironmentData(NAME)

// Only of the main thread: the store's threads create none on the path of an event.
if (isMainThread) promiseHooks.onInit(() => void Atomics.add(counts, PROMISES, 1n))

// The store's threads are started without the flags of the process.
threads.Worker = class extends threads.Worker {
  constructor(file, options = {}) {
    super(file, { ...options, execArgv: [...(options.execArgv ?? []), '--require', __filename] })
  }
}
syncBuiltinESMExports()

// The driver of the checkout that runs; it takes its classes from the addon when it is loaded, which is after this.
const ofCheckout = createRequire(join(process.env.BENCH_CHECKOUT ?? join(__dirname, '..'), 'package.json'))
const driver = ofCheckout.resolve('@photostructure/sqlite/package.json')
const addon = createRequire(driver)('node-gyp-build')(dirname(driver))

addon.DatabaseSync = class extends addon.DatabaseSync {
  constructor(...args) {
    super(...args)
    const prepare = this.prepare.bind(this)
    Object.defineProperty(this, 'prepare', { value: (...of) => counted(prepare(...of)) })
  }
}

function counted(statement) {
  for (const name of ['run', 'get', 'all', 'iterate']) {
    const call = statement[name].bind(statement)
    Object.defineProperty(statement, name, {
      value: (...args) => {
        Atomics.add(counts, STATEMENTS, 1n)
        return call(...args)
      },
    })
  }
  return statement
}
