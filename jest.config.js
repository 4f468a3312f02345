export default {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': '<rootDir>/test/support/strip-types.js' },
  // The interop suite runs against real peers: npm run test:interop.
  testPathIgnorePatterns: process.env.CAUSEWAY_INTEROP
    ? ['/node_modules/']
    : ['/node_modules/', '/test/interop/'],
  testTimeout: 120_000,
}
