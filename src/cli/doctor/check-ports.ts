import type { CausewayConfig, ConfiguredListener, Listener } from '../../config/causeway-config.ts'
import { fail, ok, type Finding } from './finding.ts'
import { connectionError, httpStatus, listenError } from './probe.ts'

interface Port extends Listener {
  what: string
  setting: string
  /** Where to ask whether it is well. */
  url?: string
  /** What that answers when all is well. */
  expects?: number
}

/** Whether a running Causeway listens on all its ports, or, when none runs, whether they are free. */
export async function* checkPorts(config: CausewayConfig, isRunning: boolean): AsyncGenerator<Finding> {
  for (const port of portsOf(config)) {
    if (port.port === 0) yield ok(port.what, 'takes any free port')
    else yield isRunning ? await whileRunning(port) : await whileStopped(port)
  }
}

async function whileRunning({ what, setting, host, port, url, expects = 200 }: Port): Promise<Finding> {
  const where = addressOf({ host, port })
  const error = await connectionError(host, port)
  if (error !== undefined) {
    return fail(
      what,
      `a Causeway holds the database, but nothing answers on ${where} (${error})`,
      `restart it with this configuration, or correct ${setting}`,
    )
  }
  const status = url === undefined ? expects : await httpStatus(url)
  if (status === expects) return ok(what, `Causeway listens on ${where}`)
  return fail(
    what,
    `${where} answers ${url ?? ''} with ${status ?? 'nothing'}, not with ${expects}`,
    `look at Causeway's log; if another program listens there, correct ${setting}`,
  )
}

async function whileStopped({ what, setting, host, port, url, expects = 200 }: Port): Promise<Finding> {
  const where = addressOf({ host, port })
  if ((await connectionError(host, port)) === undefined) {
    const other =
      url !== undefined && (await httpStatus(url)) === expects
        ? 'a Causeway on another database'
        : 'another program'
    return fail(
      what,
      `${other} listens on ${where}, and none runs on this database`,
      `stop it (ss -ltnp shows it), or write another port in ${setting}`,
    )
  }
  const error = await listenError(host, port)
  if (error === undefined) return ok(what, `${where} is free`)
  return fail(what, `cannot listen on ${where} (${error})`, `write another address in ${setting}`)
}

function portsOf({ receivers, extensions, telemetry }: CausewayConfig): Port[] {
  const listeners = [...receivers, ...extensions].flatMap((component) => component.listeners)
  const { metrics } = telemetry
  return [
    ...listeners.map(portOf),
    ...(metrics === undefined
      ? []
      : [
          {
            ...metrics,
            what: 'metrics',
            setting: 'service::telemetry::metrics::readers',
            url: `http://${addressOf(metrics)}/metrics`,
          },
        ]),
  ]
}

function portOf({ host, port, what, path, page, tls }: ConfiguredListener): Port {
  const about = { host, port, what, setting: `${path}::endpoint` }
  // Over TLS the name in the certificate is not known here, so that no more than the connection is tried.
  if (page === undefined || tls !== undefined) return about
  return { ...about, url: `http://${addressOf({ host, port })}${page.path}`, expects: page.status }
}

function addressOf({ host, port }: Listener): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
