export default {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: { parser: { syntax: 'typescript' }, target: 'es2024' },
        module: { type: 'es6' },
      },
    ],
  },
  // The interop suite runs against real peers: npm run test:interop.
  testPathIgnorePatterns: process.env.CAUSEWAY_INTEROP ? ['/node_modules/'] : ['/node_modules/', '/test/interop/'],
  testTimeout: 30_000,
}
