import { createRequire, registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { provide } from './globals.js'

const require = createRequire(import.meta.url)
const GLOBALS = new URL('globals.js', import.meta.url).href
/** Where jest-circus keeps what it knows of a file of tests. */
const EVENT_HANDLERS = Symbol.for('EVENT_HANDLERS')
const TEST_TIMEOUT = Symbol.for('TEST_TIMEOUT_SYMBOL')
const STATE = 'JEST_STATE_SYMBOL'

const { CAUSEWAY_SEED } = process.env
if (CAUSEWAY_SEED !== undefined) fc.configureGlobal({ seed: Number(CAUSEWAY_SEED) })

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === '@jest/globals' ? { url: GLOBALS, shortCircuit: true } : next(specifier, context),
})

/**
 * Has Node itself load files of tests and what they import, each once in a process. jest's own runtime loads everything
 * anew for each file of tests, in a context of its own, which takes longer than most of them do. Of jest itself the part
 * that knows tests and hooks is new for each file.
 */
export default class NativeRuntime {
  requireInternalModule(path) {
    forgetFile()
    delete require.cache[path]
    return require(path)
  }

  requireModule(path) {
    return require(path)
  }

  unstable_shouldLoadAsEsm() {
    return true
  }

  async unstable_importModule(path) {
    await import(pathToFileURL(path).href)
  }

  setGlobalsForRuntime(globals) {
    const setTimeout = (ms) => {
      globalThis[TEST_TIMEOUT] = ms
    }
    provide({ ...globals, jest: { setTimeout } })
  }

  getSourceMaps() {
    return new Map()
  }

  getAllCoverageInfoCopy() {
    return undefined
  }

  enterTestCode() {}

  leaveTestCode() {}

  teardown() {}
}

function forgetFile() {
  delete globalThis[EVENT_HANDLERS]
  delete globalThis[TEST_TIMEOUT]
  for (const symbol of Object.getOwnPropertySymbols(globalThis)) {
    if (symbol.description === STATE) delete globalThis[symbol]
  }
}
