import type { IngestPort } from '../../../src/model/otlp-requests.ts'
import { InFlight } from '../../../src/receiver/in-flight.ts'
import type { RunningListener } from '../../../src/receiver/listener.ts'
import { type GrpcReceiverSettings, startGrpcReceiver } from '../../../src/receiver/otlp/grpc-server.ts'
import { type HttpReceiverSettings, startHttpReceiver } from '../../../src/receiver/otlp/otlp-http.ts'
import type {
  AnsweredRequest,
  ReceiverObserver,
  UnauthenticatedRequest,
} from '../../../src/receiver/receiver-type.ts'

/** A receiver on a free port, with what its observer was told. */
interface TestReceiver extends RunningListener {
  answered: AnsweredRequest[]
  turnedAway: UnauthenticatedRequest[]
  /** The transport of each connection too many. */
  dropped: string[]
}

const defaults = () => ({
  receiver: 'otlp/test',
  host: '127.0.0.1',
  port: 0,
  signals: ['traces', 'logs'] as const,
  inFlight: new InFlight(),
  chance: () => 0,
})

export async function startGrpc(
  port: IngestPort,
  settings: Partial<GrpcReceiverSettings> = {},
): Promise<TestReceiver> {
  const { observer, ...told } = recordingObserver()
  return Object.assign(await startGrpcReceiver({ ...defaults(), ...settings }, port, observer), told)
}

export async function startHttp(
  port: IngestPort,
  settings: Partial<HttpReceiverSettings> = {},
): Promise<TestReceiver> {
  const { observer, ...told } = recordingObserver()
  return Object.assign(await startHttpReceiver({ ...defaults(), ...settings }, port, observer), told)
}

function recordingObserver() {
  const answered: AnsweredRequest[] = []
  const turnedAway: UnauthenticatedRequest[] = []
  const dropped: string[] = []
  const observer: ReceiverObserver = {
    answered: (request) => void answered.push(request),
    unauthenticated: (request) => void turnedAway.push(request),
    dropped: ({ transport }) => void dropped.push(transport),
    unread: () => undefined,
  }
  return { observer, answered, turnedAway, dropped }
}
