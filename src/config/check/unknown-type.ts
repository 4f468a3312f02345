import { didYouMean } from '../schema/did-you-mean.ts'
import { ownValue } from '../../model/own-value.ts'

export type ComponentSection = 'receivers' | 'processors' | 'exporters' | 'connectors' | 'extensions'

const BY_ITSELF = 'Causeway batches by itself; remove it here and from the pipelines'
const LIMITER =
  'Causeway has it as an extension of that name with the same keys; move it there and into service::extensions'
const NO_PROCESSORS =
  'Causeway has no processors; run it in a Collector in front of Causeway and remove it here'

const ADVICE: Readonly<Record<ComponentSection, Readonly<Record<string, string>>>> = {
  receivers: {},
  processors: { batch: BY_ITSELF, memory_limiter: LIMITER },
  exporters: { jaeger: 'Jaeger takes OTLP; write otlp_grpc/jaeger' },
  connectors: {},
  extensions: {
    file_storage: 'the outbox in SQLite is durable by itself; remove it',
    healthcheckv2: 'write health_check',
  },
}

/** What to say of a component whose type does not exist, and what to write instead. */
export function describeUnknownType(
  section: ComponentSection,
  id: string,
  type: string,
  known: readonly string[],
): string {
  const written = ADVICE[section]
  const advice = ownValue(written, type) ?? (section === 'processors' ? NO_PROCESSORS : undefined)
  const hint = advice === undefined ? didYouMean([type], known) : `; ${advice}`
  return `unknown type: "${type}" for id: "${id}" (valid values: [${known.join(' ')}])${hint}`
}
