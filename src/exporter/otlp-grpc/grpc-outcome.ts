import { type ServiceError, status } from '@grpc/grpc-js'
import { type SendOutcome } from '../../model/send-outcome.ts'
import { readRpcStatus } from '../rpc-status.ts'
import { shorten } from '../shorten.ts'

const RETRYABLE: ReadonlySet<status> = new Set([
  status.CANCELLED,
  status.DEADLINE_EXCEEDED,
  status.ABORTED,
  status.OUT_OF_RANGE,
  status.UNAVAILABLE,
  status.DATA_LOSS,
])

/** Refusals that may be about the size of the batch or about one span in it. */
const SPLITTABLE: ReadonlySet<status> = new Set([status.RESOURCE_EXHAUSTED, status.INVALID_ARGUMENT])

/** What a failed export call means (OTLP specification, "OTLP/gRPC Response" and "OTLP/gRPC Throttling"). */
export function outcomeOfGrpcError(error: ServiceError): SendOutcome {
  const reason = shorten(`${status[error.code]}: ${error.details}`)
  const afterMs = retryInfoMs(error)
  const throttled = error.code === status.RESOURCE_EXHAUSTED && afterMs !== undefined
  if (RETRYABLE.has(error.code) || throttled || isUnsaid(error)) {
    return afterMs === undefined ? { kind: 'retry', reason } : { kind: 'retry', afterMs, reason }
  }
  return { kind: 'refused', splittable: SPLITTABLE.has(error.code), reason }
}

/** The stream ended without a status, so that grpc-js made one: the backend has not refused anything. */
function isUnsaid({ code, details }: ServiceError): boolean {
  return code === status.INTERNAL && details.startsWith('Received RST_STREAM')
}

function retryInfoMs(error: ServiceError): number | undefined {
  const details = error.metadata.get('grpc-status-details-bin')[0]
  return Buffer.isBuffer(details) ? readRpcStatus(details)?.retryAfterMs : undefined
}
