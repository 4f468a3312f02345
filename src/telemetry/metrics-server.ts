import { createServer, type ServerResponse } from 'node:http'
import { errorText } from '../model/error-text.ts'
import {
  ASKED_SERVER,
  listen,
  type ListenerOptions,
  type ListenAddress,
  type Listening,
} from '../listeners/listen.ts'
import { chargeAnswer } from '../listeners/unread-answers.ts'
import { isFromPage } from '../trust/own-site.ts'
import { prefersOpenMetrics } from './exposition-text.ts'
import { CONTENT_TYPE, type ExpositionFormat, type Metrics } from './metrics.ts'

const FOREIGN_PAGE =
  'a page in a browser asked, or the name is not known here: call this server by its address\n'

/** Serves `GET /metrics` for Prometheus. Rejects with an error that says what to change when it cannot listen. */
export function startMetricsServer(
  settings: ListenAddress & ListenerOptions & { metrics: Metrics },
): Promise<Listening> {
  const read = readOnce(settings.metrics)
  const server = createServer(ASKED_SERVER, (request, response) => {
    if (isFromPage(settings.host, request.headers)) answer(response, 403, FOREIGN_PAGE)
    else if (request.url?.split('?', 1)[0] !== '/metrics') {
      answer(response, 404, 'not found: metrics are at /metrics\n')
    } else if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD')
      answer(response, 405, 'use GET\n')
    } else {
      void serve(read, request.headers.accept, response)
    }
  })
  return listen(server, settings, {
    what: 'The metrics server',
    setting: 'service.telemetry.metrics.readers[].pull.exporter.prometheus.{host,port}',
    connections: settings.connections,
    onOpen: settings.onOpen,
    onDrop: settings.onDrop,
    unread: settings.unread,
  })
}

/** Reads the metrics once for all who ask within one turn of the event loop, however many they are. */
function readOnce(metrics: Metrics): (format: ExpositionFormat) => Promise<string> {
  const reading = new Map<ExpositionFormat, Promise<string>>()
  return (format) => {
    let text = reading.get(format)
    if (text === undefined) {
      text = metrics.scrape(format)
      reading.set(format, text)
      setImmediate(() => reading.delete(format))
    }
    return text
  }
}

async function serve(
  read: ReturnType<typeof readOnce>,
  accept: string | undefined,
  response: ServerResponse,
): Promise<void> {
  try {
    const format = prefersOpenMetrics(accept) ? 'openmetrics' : 'prometheus'
    answer(response, 200, await read(format), CONTENT_TYPE[format])
  } catch (error) {
    answer(response, 500, `metrics cannot be read: ${errorText(error)}\n`)
  }
}

function answer(
  response: ServerResponse,
  status: number,
  body: string,
  type = 'text/plain; charset=utf-8',
): void {
  if (chargeAnswer(response, body.length)) response.writeHead(status, { 'content-type': type }).end(body)
  else response.writeHead(503, { 'retry-after': '1' }).end()
}
