import type { ComponentConfig, ExporterConfig } from '../../config/causeway-config.ts'
import { typeNamed } from '../../config/declarations.ts'
import { retrying, type RetryNotice } from '../../exporter/retrying-transport.ts'
import { sleep } from '../../exporter/sleep.ts'
import type { SentSignal } from '../../model/ingest.ts'
import type { Transport } from '../../model/send-outcome.ts'
import type { Credentials } from '../../trust/authenticator.ts'
import type { Components } from '../components.ts'
import { systemClock } from '../system-clock.ts'

export interface SendingHooks {
  components: Components
  userAgent: string
  /** What exporters may show to their backends; each names its own by id. */
  authenticators: readonly ComponentConfig[]
  /** How long a request may take, whatever is configured, in milliseconds. */
  longestMs?: number
  /** Takes a line for the log. */
  show: (line: string) => void
  /** Told of what an operator should see to, such as certificates that cannot be read again; sending goes on. */
  onTrouble: (reason: string) => void
}

export interface TransportHooks extends SendingHooks {
  onRetry: (notice: RetryNotice) => void
}

/** Opens what an exporter of the configuration sends a signal with, retries included. Rejects when a setting is unusable. */
export async function openTransport(
  config: ExporterConfig,
  signal: SentSignal,
  hooks: TransportHooks,
): Promise<Transport> {
  const transport = await openOnce(config, signal, hooks)
  const { retry } = config.sending
  if (retry === undefined) return transport
  const { onRetry } = hooks
  return retrying(transport, retry, { clock: systemClock, sleep, random: Math.random, onRetry })
}

/** Opens what sends each request of a signal once. Rejects when a setting is unusable. */
export async function openOnce(
  config: ExporterConfig,
  signal: SentSignal,
  hooks: SendingHooks,
): Promise<Transport> {
  const { components, userAgent, longestMs, show, onTrouble } = hooks
  const exporter = await typeNamed(components.exporters, config.type)?.load()
  if (exporter === undefined) throw new Error(`there is no exporter of the type ${config.type}`)
  using open = new DisposableStack()
  const credentials = open.use(await openCredentials(config, hooks))
  const host = { clock: systemClock, userAgent, longestMs, show, onTrouble, credentials }
  const transport = exporter.openTransport(config.settings, signal, host)
  // From here on the transport disposes of them.
  open.move()
  return transport
}

async function openCredentials(
  { auth }: ExporterConfig,
  { components, authenticators, onTrouble }: SendingHooks,
): Promise<Credentials | undefined> {
  if (auth === undefined) return undefined
  const named = authenticators.find(({ id }) => id === auth)
  const module = named && (await typeNamed(components.extensions, named.type)?.loadCredentials?.())
  if (named === undefined || module === undefined) throw new Error(`the authenticator ${auth} is not there`)
  return module.openCredentials(named.id, named.settings, { onTrouble })
}
