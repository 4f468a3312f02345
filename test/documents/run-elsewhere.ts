/** Where a command of the documents is run instead, or why it is not. */
type Elsewhere =
  /** The file that runs it, and what stands in that file where it does. */
  { by: string; as: string } | { why: string }

const HOURS = 'it measures for minutes or hours, on a calm machine'
const NO_IMAGES = 'the cluster of the tests runs no containers'
const ON_A_NODE = 'it prepares a node, or needs Docker'
const NO_REGISTRY = 'it needs the images of a registry, and podman'
const AS_ROOT = 'it installs into the machine, as root'
const REWRITES = 'it rewrites files of the checkout'

/** The commands that test/documents does not run, by their text. */
export const RUN_ELSEWHERE: Readonly<Record<string, Elsewhere>> = {
  'litestream replicate -config litestream.yml': {
    by: 'test/interop/machine-lost.test.ts',
    as: 'litestream replicate -config litestream.yml',
  },
  'litestream restore -config litestream.yml -if-db-not-exists /var/lib/causeway/causeway.db': {
    by: 'test/interop/machine-lost.test.ts',
    as: 'litestream restore -config litestream.yml -if-db-not-exists /var/lib/causeway/causeway.db',
  },
  'litestream restore -config litestream.yml -o tried.db /var/lib/causeway/causeway.db': {
    by: 'test/interop/machine-lost.test.ts',
    as: 'litestream restore -config litestream.yml -o tried.db /var/lib/causeway/causeway.db',
  },
  'npm ci': { by: '.ci/run', as: 'npm ci' },
  'npm ci && npm run demo': { by: '.ci/readme-commands', as: "demo='npm ci && npm run demo'" },
  'npm ci && npm test': { by: '.ci/readme-commands', as: "tests='npm ci && npm test'" },
  'npm ci && npm run build': { by: 'test/support/before-all.js', as: 'scripts/build-dashboard.ts' },
  'npm run build': { by: 'test/support/before-all.js', as: 'scripts/build-dashboard.ts' },
  'npm test': { by: '.ci/readme-commands', as: 'npm test' },
  'npm run test:long': { by: '.ci/run', as: 'npm run test:long' },
  'npm run test:shell': { by: '.ci/run', as: 'npm run test:shell' },
  'npm run test:faults': { by: '.ci/run', as: 'npm run test:faults' },
  'npm run test:attack': { by: '.ci/run', as: 'npm run test:attack' },
  'CAUSEWAY_ATTACK=1 CAUSEWAY_MINUTES=30 npm test -- test/attack/linking/deliveries': { why: HOURS },
  'npm run test:retention': {
    by: 'test/graph/retention/retention.property.test.ts',
    as: 'npm run test:retention does that for as long as it is told to',
  },
  'npm run test:browser': { by: '.ci/run', as: 'npm run test:browser' },
  'npm run test:interop': { by: '.ci/run', as: 'npm run test:interop' },
  'npm run check': { by: '.ci/run', as: 'npm run check' },
  'npm run walk': { by: 'test/documents/walk.test.ts', as: "'lab/walk/walk.ts', '--json'" },
  'npm run sbom': { by: '.ci/run', as: 'npm run sbom' },
  'npm run audit:dependencies': { by: '.ci/run', as: 'npm run audit:dependencies' },
  "causeway kubectl --reason 'ticket 4711' -- apply -f shop/": {
    by: 'test/interop/kubernetes/kubectl.test.ts',
    as: "'apply', '-f', folder",
  },
  "causeway run --reason 'ticket 4711' -- helm upgrade shop ./chart": {
    by: 'test/interop/kubernetes/helm.test.ts',
    as: "'upgrade', 'web'",
  },
  'kubectl causeway why pod/web-7c9f8d6b5-x2x4k': {
    by: 'test/kubectl/plugin.test.ts',
    as: "'why', 'deploy/web'",
  },
  'kubectl causeway who deployment/web': { by: 'test/kubectl/plugin.test.ts', as: "'who', 'deploy/web'" },
  'kubectl causeway cascade deployment/web': {
    by: 'test/kubectl/plugin.test.ts',
    as: "'cascade', 'deployments.apps/web'",
  },
  'npm run demo': { by: 'test/demo/demo-run.ts', as: "spawn('npm', ['run', 'demo'" },
  'npx causeway observe': { by: 'test/interop/npm-packages.test.ts', as: "'observe'" },
  'kubectl create deployment web --image=nginx --replicas=3': {
    by: 'test/interop/npm-packages.test.ts',
    as: "'create', 'deployment', 'web'",
  },
  'kubectl apply -f causeway.yaml -f cluster-role.yaml': {
    by: 'test/interop/kubernetes/deploying.test.ts',
    as: "file('cluster-role.yaml')",
  },
  'kubectl -n causeway rollout status deployment/causeway': { why: NO_IMAGES },
  'kubectl -n causeway port-forward service/causeway 4319': { why: NO_IMAGES },
  'kubectl apply -f admission.yaml': {
    by: 'test/interop/kubernetes/deploying.test.ts',
    as: "file('admission.yaml')",
  },
  './admission-certificate.sh': {
    by: 'test/interop/kubernetes/deploying.test.ts',
    as: "run(file('admission-certificate.sh')",
  },
  "sed 's/# admission: //' causeway.yaml | kubectl apply -f -": {
    by: 'test/interop/kubernetes/deploying.test.ts',
    as: "'# admission: '",
  },
  "sed -e 's/# admission: //' -e 's/# audit: //' causeway.yaml | kubectl apply -f -": {
    by: 'test/interop/kubernetes/deploying.test.ts',
    as: "'# audit: '",
  },
  'mkdir -p audit && install -m 0644 /dev/null audit/audit.log': { why: ON_A_NODE },
  'kind create cluster --config kind.yaml': { why: ON_A_NODE },
  'npx causeway --config examples/kubernetes/beside.yaml': {
    by: 'test/examples/kubernetes-manifests.test.ts',
    as: "'beside.yaml'",
  },
  'sudo install -D -m 0644 audit-policy.yaml /etc/kubernetes/causeway/audit-policy.yaml': { why: ON_A_NODE },
  'sudo install -D -m 0640 -g 1000 /dev/null /var/log/kubernetes/audit/audit.log': { why: ON_A_NODE },
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
  'npm install ../causeway/dist/causeway-instrumentation-0.1.0.tgz @kubernetes/client-node@1 @opentelemetry/api @opentelemetry/sdk-node@0.301':
    {
      why: 'it is typed in another project and asks the registry; standing-alone.test.ts runs the package without it',
    },
  'npm install ../causeway/dist/causeway-instrumentation-0.1.0.tgz @kubernetes/client-node @opentelemetry/api @opentelemetry/sdk-node':
    {
      why: 'it is typed in another project and asks the registry; lab/harness/kubernetes/operator-folder.ts makes the same folder for the interop suite',
    },
  'kubectl apply --filename web-app.yaml': {
    by: 'test/interop/kubernetes/support/operator-stage.ts',
    as: "'apply', '--filename', join(folder, `${kind}.yaml`)",
  },
  'OTEL_RESOURCE_ATTRIBUTES=k8s.cluster.name=mine node web-app-instrumented.ts': {
    by: 'test/interop/kubernetes/support/operator-stage.ts',
    as: '`${operator}-instrumented.ts`',
  },
  'OTEL_RESOURCE_ATTRIBUTES=k8s.cluster.name=mine node operator.js': {
    by: 'test/interop/kubernetes/support/operator-stage.ts',
    as: '`${operator}-instrumented.ts`',
  },
  "npx causeway kubectl --cluster mine --reason 'a first try' -- apply -f my-object.yaml": {
    by: 'test/interop/kubernetes/kubectl.test.ts',
    as: "'apply', '-f', folder",
  },
  'npm install ../causeway/dist/causeway-instrumentation-0.1.0.tgz': {
    why: 'it is typed in another project and asks the registry; lab/harness/kubernetes/operator-folder.ts makes the same folder for the interop suite',
  },
  'kubectl --context host apply --filename custom-resources.yaml': {
    by: 'test/interop/kubernetes/federation.test.ts',
    as: "join(folder, 'custom-resources.yaml')",
  },
  'kubectl --context west apply --filename custom-resources.yaml': {
    by: 'test/interop/kubernetes/federation.test.ts',
    as: "join(folder, 'custom-resources.yaml')",
  },
  'node node-agent.ts west node-1': {
    by: 'test/interop/kubernetes/federation.test.ts',
    as: "start('node-agent.ts', member, 'node-1')",
  },
  'node reconfigurator.ts west': {
    by: 'test/interop/kubernetes/federation.test.ts',
    as: "start('reconfigurator.ts', member)",
  },
  'node federation-controller.ts host west': {
    by: 'test/interop/kubernetes/federation.test.ts',
    as: "start('federation-controller.ts', 'host', ...CLUSTERS)",
  },
  'kubectl --context host apply --filename feature-config.yaml': {
    by: 'test/interop/kubernetes/federation.test.ts',
    as: "join(folder, 'feature-config.yaml')",
  },
  'npm run pack:instrumentation': {
    by: 'test/instrumentation/standing-alone.test.ts',
    as: 'pack-instrumentation.ts',
  },
  'npm run pack:causeway': { by: 'test/interop/npm-packages.test.ts', as: "pack('causeway')" },
  'npm install ../causeway/dist/causeway-0.1.0.tgz': {
    by: 'test/interop/npm-packages.test.ts',
    as: "'npm', 'install', ...packed",
  },
  'source <(causeway completion bash)': { by: 'test/cli/completion.test.ts', as: "'completion', 'bash'" },
  'npx causeway --version': { by: 'test/interop/npm-packages.test.ts', as: "'causeway', '--version'" },
  'podman build --build-arg COMMIT=$(git rev-parse HEAD) --tag registry.example.com/causeway:0.1.0 .': {
    why: NO_REGISTRY,
  },
  'podman push registry.example.com/causeway:0.1.0': { why: NO_REGISTRY },
  'podman run --read-only --tmpfs /tmp --network host --volume ./etc:/etc/causeway:ro --volume causeway:/var/lib/causeway registry.example.com/causeway:0.1.0':
    { why: NO_REGISTRY },
  'helm install causeway deploy/helm/causeway --namespace causeway --create-namespace --set cluster=production --set image.repository=registry.example.com/causeway':
    { by: 'test/interop/kubernetes/helm-install.test.ts', as: "helm.run('install', ...about" },
  "helm template causeway deploy/helm/causeway --values my-values.yaml --show-only templates/configmap.yaml | sed '1,/otel-config.yaml/d; s/^    //' >chart-config.yaml":
    { by: 'test/interop/kubernetes/helm-chart.test.ts', as: "sed '1,/otel-config.yaml/d; s/^    //'" },
  'causeway validate --config chart-config.yaml': {
    by: 'test/interop/kubernetes/helm-chart.test.ts',
    as: "'validate', '--config', path",
  },
  'helm upgrade causeway deploy/helm/causeway --namespace causeway --values my-values.yaml': {
    by: 'test/interop/kubernetes/helm-install.test.ts',
    as: "helm.run('upgrade', ...about",
  },
  'helm uninstall causeway --namespace causeway': {
    by: 'test/interop/kubernetes/helm-install.test.ts',
    as: "helm.run('uninstall'",
  },
  'sudo npm install --prefix /opt/causeway dist/causeway-0.1.0.tgz': { why: AS_ROOT },
  'sudo install -D -m 0644 otel-config.yaml /etc/causeway/otel-config.yaml': { why: AS_ROOT },
  'sudo install -D -m 0644 deploy/systemd/causeway.service /etc/systemd/system/causeway.service': {
    why: AS_ROOT,
  },
  'sudo systemctl enable --now causeway': { why: AS_ROOT },
  'sudo systemctl reload causeway': { why: AS_ROOT },
  'npm run bench': { why: HOURS },
  'npm run bench -- --only soak --minutes 60': { why: HOURS },
  'npm run bench:peers': { why: HOURS },
  'npm run evaluate': { why: HOURS },
  'npm run fuzz': { by: 'test/fuzz/fuzz.test.ts', as: 'fuzz' },
  'npm run bench:document': { why: REWRITES },
  'npm run bench:document -- lab/bench/results/latest.json lab/bench/results/peers.json': { why: REWRITES },
  'npm run screenshots': { why: REWRITES },
  'npm run gen': { by: 'test/cli/cli-docs.test.ts', as: 'npm run gen writes it' },
  'npm run golden': { why: REWRITES },
}
