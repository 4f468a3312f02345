export default {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': '<rootDir>/test/support/strip-types.js' },
  globalSetup: '<rootDir>/test/support/build-dashboard.js',
  // The interop suite runs against real peers, the browser suite in Chromium, the faults suite takes minutes: npm run
  // test:interop, test:browser, test:faults.
  testPathIgnorePatterns: [
    '/node_modules/',
    ...(process.env.CAUSEWAY_INTEROP ? [] : ['/test/interop/']),
    ...(process.env.CAUSEWAY_FAULTS ? [] : ['/test/faults/']),
    ...(process.env.CAUSEWAY_BROWSER ? [] : ['/test/browser/']),
  ],
  testTimeout: 120_000,
}
