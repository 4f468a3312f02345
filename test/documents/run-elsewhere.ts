/** Where a command of the documents is run instead, or why it is not. */
export type Elsewhere =
  /** The file that runs it, and what stands in that file where it does. */
  { by: string; as: string } | { why: string }

const HOURS = 'it measures for minutes or hours, on a calm machine'
const REWRITES = 'it rewrites files of the checkout'

/** The commands that test/documents does not run, by their text. */
export const RUN_ELSEWHERE: Readonly<Record<string, Elsewhere>> = {
  'npm ci': { by: '.ci/run', as: 'npm ci' },
  'npm ci && npm run demo': { by: '.ci/readme-commands', as: "demo='npm ci && npm run demo'" },
  'npm ci && npm test': { by: '.ci/readme-commands', as: "tests='npm ci && npm test'" },
  'npm ci && npm run build': { by: 'test/support/build-dashboard.js', as: 'scripts/build-dashboard.ts' },
  'npm run build': { by: 'test/support/build-dashboard.js', as: 'scripts/build-dashboard.ts' },
  'npm test': { by: '.ci/readme-commands', as: 'npm test' },
  'npm run test:shell': { by: '.ci/run', as: 'npm run test:shell' },
  'npm run test:faults': { by: '.ci/run', as: 'npm run test:faults' },
  'npm run test:attack': { by: '.ci/run', as: 'npm run test:attack' },
  'npm run test:retention': {
    by: 'test/graph/retention/retention.property.test.ts',
    as: 'npm run test:retention does that for as long as it is told to',
  },
  'npm run test:browser': { by: '.ci/run', as: 'npm run test:browser' },
  'npm run test:interop': { by: '.ci/run', as: 'npm run test:interop' },
  'npm run check': { by: '.ci/run', as: 'npm run check' },
  'npm run sbom': { by: '.ci/run', as: 'npm run sbom' },
  'npm run audit:dependencies': { by: '.ci/run', as: 'npm run audit:dependencies' },
  'npm run demo': { by: 'test/demo/demo-run.ts', as: "spawn('npm', ['run', 'demo'" },
  'npm run demo:kubernetes': { by: 'test/interop/kubernetes/demo.test.ts', as: 'kubernetes-demo.ts' },
  'npm run demo -- --keep': { by: 'test/demo/demo-kills.test.ts', as: "'--keep'" },
  'npm run demo -- --set receivers.otlp.protocols.grpc.endpoint=localhost:5317': {
    by: 'test/demo/demo-run.ts',
    as: 'receivers.otlp.protocols.grpc.endpoint',
  },
  'npm run demo -- --endpoint localhost:4317': {
    by: 'test/interop/support/run-demo.ts',
    as: "'--endpoint', endpoint",
  },
  'npm run demo -- --exporter-endpoint localhost:4327': {
    by: 'test/demo/demo.test.ts',
    as: "'--exporter-endpoint'",
  },
  '(cd ../causeway && npm ci && npm run pack:instrumentation)': {
    by: 'test/instrumentation/standing-alone.test.ts',
    as: 'pack-instrumentation.ts',
  },
  'npm install ../causeway/dist/causeway-instrumentation-0.1.0.tgz @opentelemetry/api @opentelemetry/sdk-node':
    {
      why: 'it is typed in another project and asks the registry; standing-alone.test.ts runs the package without it',
    },
  'npm run pack:instrumentation': {
    by: 'test/instrumentation/standing-alone.test.ts',
    as: 'pack-instrumentation.ts',
  },
  'npm run bench': { why: HOURS },
  'npm run bench:peers': { why: HOURS },
  'npm run evaluate': { why: HOURS },
  'npm run fuzz': { by: 'test/fuzz/fuzz.test.ts', as: 'fuzz' },
  'npm run bench:document': { why: REWRITES },
  'npm run bench:document -- lab/bench/results/latest.json lab/bench/results/peers.json': { why: REWRITES },
  'npm run screenshots': { why: REWRITES },
  'npm run gen': { by: 'test/cli/cli-docs.test.ts', as: 'npm run gen writes it' },
  'npm run golden': { why: REWRITES },
}
