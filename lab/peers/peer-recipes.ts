import { BOUNDED, kubernetesRecipes } from './kubernetes-recipes.ts'
import {
  collectorRoutingVersion,
  collectorStableVersion,
  peerVersions,
  type PeerName,
} from './peer-versions.ts'

/** Says how one peer is built: files to put into an empty directory, then `go` commands to run there. */
export type PeerRecipe = {
  readonly files: Readonly<Record<string, string>>
  /** A module, with its version, whose own `go.sum` is put beside the `go.mod` written here. */
  readonly checksumsFrom?: string
  readonly goCommands: readonly (readonly string[])[]
  /** What else those commands find in their environment. */
  readonly env?: Readonly<Record<string, string>>
  /** Where the program is afterwards, relative to that directory. `GOBIN` is its `bin`. */
  readonly binary: string
}

const core = 'go.opentelemetry.io/collector'
const contrib = 'github.com/open-telemetry/opentelemetry-collector-contrib'
const collectorBuilder = `${core}/cmd/builder@${peerVersions.collector}`
const jaegerModule = 'github.com/jaegertracing/jaeger'
const prometheusModule = 'github.com/prometheus/prometheus'
const stripped = '-ldflags=-s -w'

export const peerRecipes: Readonly<Record<PeerName, PeerRecipe>> = {
  telemetrygen: {
    files: {},
    goCommands: [
      ['install', '-trimpath', stripped, `${contrib}/cmd/telemetrygen@${peerVersions.telemetrygen}`],
    ],
    binary: 'bin/telemetrygen',
  },
  collector: {
    files: { 'builder.yaml': builderConfig(peerVersions.collector, collectorStableVersion) },
    // The builder by itself lets dependency resolution raise a component's version; here that is an error.
    goCommands: [['run', collectorBuilder, '--skip-strict-versioning=false', '--config=builder.yaml']],
    binary: 'distribution/collector',
  },
  jaeger: {
    files: { 'go.mod': jaegerGoMod(peerVersions.jaeger) },
    // The hashes its authors released, so that no checksum database need know every one of its dependencies.
    checksumsFrom: `${jaegerModule}@${peerVersions.jaeger}`,
    goCommands: [
      ['build', '-mod=mod', '-trimpath', stripped, '-o', 'bin/jaeger', `${jaegerModule}/cmd/jaeger`],
    ],
    binary: 'bin/jaeger',
  },
  promtool: {
    files: { 'go.mod': promtoolGoMod(peerVersions.promtool) },
    checksumsFrom: `${prometheusModule}@${peerVersions.promtool}`,
    goCommands: [
      ['build', '-mod=mod', '-trimpath', stripped, '-o', 'bin/promtool', `${prometheusModule}/cmd/promtool`],
    ],
    binary: 'bin/promtool',
  },
  litestream: {
    files: {},
    goCommands: [
      [
        'install',
        '-trimpath',
        stripped,
        `github.com/benbjohnson/litestream/cmd/litestream@${peerVersions.litestream}`,
      ],
    ],
    env: BOUNDED,
    binary: 'bin/litestream',
  },
  helm: {
    files: {},
    goCommands: [['install', '-trimpath', stripped, `helm.sh/helm/v3/cmd/helm@${peerVersions.helm}`]],
    env: BOUNDED,
    binary: 'bin/helm',
  },
  ...kubernetesRecipes,
}

function builderConfig(version: string, stableVersion: string): string {
  return `dist:
  module: causeway.test/collector
  name: collector
  description: OpenTelemetry Collector for Causeway's interop tests
  version: ${version.slice(1)}
  output_path: ./distribution
receivers:
  - gomod: ${core}/receiver/otlpreceiver ${version}
  - gomod: ${contrib}/receiver/kubeletstatsreceiver ${version}
connectors:
  - gomod: ${contrib}/connector/routingconnector ${collectorRoutingVersion}
processors:
  - gomod: ${core}/processor/batchprocessor ${version}
exporters:
  - gomod: ${core}/exporter/debugexporter ${version}
  - gomod: ${core}/exporter/otlpexporter ${version}
  - gomod: ${core}/exporter/otlphttpexporter ${version}
  - gomod: ${contrib}/exporter/fileexporter ${version}
extensions:
  - gomod: ${contrib}/extension/storage/filestorage ${version}
providers:
  - gomod: ${core}/confmap/provider/envprovider ${stableVersion}
  - gomod: ${core}/confmap/provider/fileprovider ${stableVersion}
  - gomod: ${core}/confmap/provider/yamlprovider ${stableVersion}
`
}

/** Go ignores the replace lines of a dependency, so Jaeger's own one is repeated here. */
function jaegerGoMod(version: string): string {
  return `module causeway.test/jaeger

go 1.25.0

require ${jaegerModule} ${version}

replace github.com/Shopify/sarama => github.com/Shopify/sarama v1.33.0
`
}

/** The same goes for Prometheus, which `go install` refuses for its replace line. */
function promtoolGoMod(version: string): string {
  return `module causeway.test/promtool

go 1.26.0

require ${prometheusModule} ${version}

replace cloud.google.com/go => cloud.google.com/go v0.123.0
`
}
