import { fileURLToPath } from 'node:url'
import { LONG_TESTS } from './test/support/long-tests.js'

const {
  CAUSEWAY_INTEROP,
  CAUSEWAY_FAULTS,
  CAUSEWAY_ATTACK,
  CAUSEWAY_BROWSER,
  CAUSEWAY_LONG,
  CAUSEWAY_TEST_RESULTS,
} = process.env
const longTests = Object.keys(LONG_TESTS).map((name) => `${name}.test.ts`)
/** Tests that are named are run, however long they take. */
const areNamed = process.argv.slice(2).some((argument) => /^(?!-).*(\/|test)/.test(argument))
const isOfAnotherSuite = Boolean(CAUSEWAY_INTEROP ?? CAUSEWAY_FAULTS ?? CAUSEWAY_ATTACK ?? CAUSEWAY_BROWSER)
const leftOut = CAUSEWAY_LONG || areNamed || isOfAnotherSuite ? [] : longTests

// Of the programs that tests start what Node makes of the sources is kept, as bin/causeway.js keeps it.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('node_modules/.cache/causeway', import.meta.url))

// What this machine has its shells run first, such as a version manager that waits for a lock, is not ours to test.
delete process.env.BASH_ENV

export default {
  runtime: '<rootDir>/test/support/jest/native-runtime.js',
  testEnvironment: '<rootDir>/test/support/jest/this-process.js',
  testMatch: CAUSEWAY_LONG
    ? longTests.map((name) => `<rootDir>/test/${name}`)
    : ['<rootDir>/test/**/*.test.ts'],
  transform: {},
  testSequencer: '<rootDir>/test/support/slow-first.js',
  globalSetup: '<rootDir>/test/support/before-all.js',
  // The interop suite runs against real peers, the browser suite in Chromium, the suites of faults and attacks take
  // minutes: npm run test:interop, test:browser, test:faults, test:attack.
  testPathIgnorePatterns: [
    '/node_modules/',
    ...(CAUSEWAY_INTEROP ? [] : ['/test/interop/']),
    ...(CAUSEWAY_FAULTS ? [] : ['/test/faults/']),
    ...(CAUSEWAY_ATTACK ? [] : ['/test/attack/']),
    ...(CAUSEWAY_BROWSER ? [] : ['/test/browser/']),
    ...leftOut.map((name) => `/test/${name.replaceAll('.', '\\.')}$`),
  ],
  // The large suites have programs beside them that take a core each.
  maxWorkers: isOfAnotherSuite ? 1 : '100%',
  testTimeout: 120_000,
  // On a busy machine a worker that nothing keeps takes a second to end; jest's half a second is for an idle one.
  workerGracefulExitTimeout: 10_000,
  reporters: [
    'default',
    '<rootDir>/test/support/jest/end-anyway.js',
    ...(leftOut.length > 0 ? [['<rootDir>/test/support/left-out.js', { files: leftOut.length }]] : []),
    ...(CAUSEWAY_TEST_RESULTS
      ? [['<rootDir>/test/support/results-file.js', { path: CAUSEWAY_TEST_RESULTS }]]
      : []),
  ],
}
