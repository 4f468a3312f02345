import type { IngestPort, Signal } from '../../../model/ingest.ts'
import type { CorsSettings } from '../../../trust/cors.ts'
import { Intake } from '../../admission/intake.ts'
import { serveHttp, type HttpSettings } from '../../http/serve-http.ts'
import {
  DEFAULT_MAX_MESSAGE_BYTES,
  type ReceiverSettings,
  type RunningReceiver,
} from '../../listening/receiver-settings.ts'
import type { ReceiverObserver } from '../../observer.ts'
import { HttpExchange } from './http-exchange.ts'

export interface HttpReceiverSettings extends ReceiverSettings, HttpSettings {
  /** The path that takes traces; /v1/traces unless given. */
  tracesUrlPath?: string
  /** The path that takes logs; /v1/logs unless given. */
  logsUrlPath?: string
  cors?: CorsSettings
}

/**
 * Takes OTLP/HTTP (OTLP specification, OTLP/HTTP), protobuf and JSON alike, and hands every request to the port as
 * protobuf. Rejects with an error that says what to do when it cannot listen.
 */
export function startHttpReceiver(
  settings: HttpReceiverSettings,
  port: IngestPort,
  observer: ReceiverObserver,
): Promise<RunningReceiver> {
  const intake = new Intake(settings, 'http', { port, observer })
  const paths: Record<Signal, string> = {
    traces: settings.tracesUrlPath ?? '/v1/traces',
    logs: settings.logsUrlPath ?? '/v1/logs',
  }
  const routes = new Map(settings.signals.map((signal) => [paths[signal], signal]))
  const maxMessageBytes = settings.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES
  const { host, cors } = settings
  const purpose = { what: 'OTLP/http', setting: 'protocols::http::endpoint' }
  return serveHttp(settings, purpose, (guards) => {
    const exchange = new HttpExchange({ routes, maxMessageBytes, host, cors, ...guards }, intake)
    return {
      answer: (request, response) => exchange.answer(request, response),
      giveUp: () => intake.stopWaiting(),
      refuse: (request, response, reason) => exchange.refuseOneTooMany(request, response, reason),
      dropped: (reason) => intake.dropped(reason),
      unread: () => intake.unread(),
    }
  })
}
