export default {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': '<rootDir>/test/support/strip-types.js' },
  globalSetup: '<rootDir>/test/support/build-dashboard.js',
  // The interop suite runs against real peers, the browser suite in Chromium: npm run test:interop, test:browser.
  testPathIgnorePatterns: [
    '/node_modules/',
    ...(process.env.CAUSEWAY_INTEROP ? [] : ['/test/interop/']),
    ...(process.env.CAUSEWAY_BROWSER ? [] : ['/test/browser/']),
  ],
  testTimeout: 120_000,
}
