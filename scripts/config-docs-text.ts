/** The parts of docs/config.md that do not come from the schema. */
export const INTRODUCTION = `# Configuration

Causeway is configured in the grammar of the OpenTelemetry Collector. This page lists every key. It is
generated from the schema that checks a configuration, by \`npm run gen\`; do not edit it by hand.

\`causeway validate --config otel-config.yaml\` says nothing when a configuration is right, and otherwise names
every mistake at once, each with its path and what to write instead. \`causeway print-config\` shows the
configuration with every default written out and secrets blacked out.

## Where it comes from

\`--config\` may be given several times. Each is a file, or \`file:path\`, \`env:NAME\` (the YAML is in the variable)
or \`yaml:exporters::debug::verbosity: detailed\`. \`--set a.b=c\` comes after all of them; its value is YAML.
Later ones are laid over earlier ones: maps merge key by key, lists are replaced, and a bare key (null) takes
away what was there. JSON is YAML, so it is taken too. Paths are relative to the working directory.

Values may refer to what is outside:

| written                  | means                                                               |
| ------------------------ | ------------------------------------------------------------------- |
| \`\${env:NAME}\`, \`\${NAME}\` | the environment variable; empty, with a warning, when it is not set |
| \`\${env:NAME:-text}\`      | the same, or \`text\` when it is not set                              |
| \`\${file:part.yaml}\`      | what is in the file                                                 |
| \`$$\`                     | one \`$\`                                                             |

A value that is one reference and nothing else is read as YAML, so \`\${env:PORT}\` gives a number; keys that want
text take the text as it was. References may stand inside references.

## Kinds of values

- **duration**: as in Go, \`200ms\`, \`10s\`, \`1h30m\`. A number without a unit is refused, except \`0\`.
- **size**: a whole number of bytes, or one with \`KiB\`, \`MiB\` or \`GiB\`, such as \`4MiB\`.
- **host:port**: \`localhost:4317\`, \`[::1]:4317\`. To listen, \`:4317\` means all addresses and port \`0\` any free port.
`

export const PIPELINES = `## How pipelines join

Incoming pipelines lead from a receiver to the \`cpid\` connector, outgoing ones from the connector to exporters:

\`\`\`yaml
service:
  pipelines:
    traces/in: { receivers: [otlp], exporters: [cpid] }
    logs/in: { receivers: [otlp], exporters: [cpid] }
    traces/out: { receivers: [cpid], exporters: [otlp_grpc/jaeger] }
\`\`\`

Without \`traces/out\` Causeway only stores and answers. \`logs/out: { receivers: [cpid], exporters: [otlp_http/loki] }\`
sends every log record on, mergelogs too, with the trace id of its cascade: see [ADR-010](adr/010-log-records.md). \`metrics/out\` sends what the connector measures: see [metrics.md](metrics.md). There is exactly one \`cpid\` connector. A component that no pipeline names, and an extension that
\`service.extensions\` does not name, is off.
`
