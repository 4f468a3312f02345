import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import {
  CPID_AUDIT_ID,
  CPID_CAUSE,
  CPID_GAP,
  CPID_ID,
  CPID_NEW,
  CPID_OBJECT,
  CPID_OBSERVED,
  CPID_REASON,
  CPID_SOURCES,
  CPID_TRACEPARENT,
  CPID_WROTE,
  MERGELOG_EVENT,
  USER_NAME,
} from '../../model/attributes.ts'
import { readTraceparent } from '../../model/kubernetes/traceparent.ts'
import {
  bytesOf,
  writeSpan,
  type AttributeValue,
  type NewSpan,
  type SpanEvent,
  type SpanLink,
} from '../../otlp/write/encode-span.ts'
import { scopeEnvelope, serviceEnvelope } from '../../otlp/write/own-envelopes.ts'
import type { Decision } from '../decide.ts'
import { derivedSpanIds } from '../derive-change-ids.ts'
import { nameOfWrite } from './name-of-write.ts'
import { objectAttributes } from './object-attributes.ts'
import { referenceOf } from './reference-of.ts'

const OWN_SCOPE = scopeEnvelope('causeway.inference')
/** How many read versions a span names. */
const MAX_OBSERVED = 128

/**
 * An ExportTraceServiceRequest that says of each decision what an instrumented controller would have said of the write: a
 * span, and where it begins or merges changes a mergelog in it.
 */
export function encodeDecisions(decisions: readonly Decision[]): Buffer {
  const byService = Map.groupBy(decisions, ({ writer, key }) => `${key.cluster}\0${writer.service}`)
  const request = new BinaryWriter()
  for (const group of byService.values())
    writeGroup(request.tag(1, WireType.LengthDelimited).fork(), group).join()
  return bytesOf(request)
}

function writeGroup(to: BinaryWriter, group: readonly Decision[]): BinaryWriter {
  const [{ writer, key } = { writer: { service: '' }, key: { cluster: '' } }] = group
  to.raw(serviceEnvelope(writer.service, key.cluster))
  to.tag(2, WireType.LengthDelimited).fork().raw(OWN_SCOPE)
  for (const decision of group) writeSpan(to.tag(2, WireType.LengthDelimited).fork(), spanOf(decision)).join()
  return to.join()
}

function spanOf(decision: Decision): NewSpan {
  const { write, key } = decision
  const endNs = write.request?.endNs ?? write.seenNs
  const startNs = write.request?.startNs ?? endNs - 1n
  return {
    ...derivedSpanIds(key),
    parentId: 0n,
    name: nameOfWrite(decision),
    startNs,
    endNs,
    attributes: attributesOf(decision),
    links: linksOf(decision),
    events: mergelogOf(decision, startNs),
  }
}

function attributesOf(decision: Decision): Record<string, AttributeValue> {
  const { write, version, writer, cpid, cause, reads, gap } = decision
  const { auditId, traceparent } = write.request ?? {}
  const observed = reads
    .slice(0, MAX_OBSERVED)
    .map(({ identity, known }) => referenceOf(identity, known.version))
  return {
    [CPID_ID]: cpid,
    [CPID_CAUSE]: cause,
    [CPID_WROTE]: [referenceOf(write.object, version)],
    ...(observed.length > 0 && { [CPID_OBSERVED]: observed }),
    ...(writer.user !== undefined && { [USER_NAME]: writer.user }),
    ...(gap && { [CPID_GAP]: true }),
    ...(auditId !== undefined && { [CPID_AUDIT_ID]: auditId }),
    ...(traceparent !== undefined && { [CPID_TRACEPARENT]: traceparent }),
    ...objectAttributes(write.object),
  }
}

function mergelogOf({ write, writer, part, cpid, sources }: Decision, timeNs: bigint): SpanEvent[] {
  if (sources === undefined) return []
  const attributes = {
    [CPID_NEW]: cpid,
    [CPID_SOURCES]: sources,
    [CPID_OBJECT]: referenceOf(write.object, write.version),
    [CPID_REASON]: `${part} by ${writer.user ?? writer.service}`,
  }
  return [{ name: MERGELOG_EVENT, timeNs, attributes }]
}

/** The trace of whoever wrote the object, which says so in the object itself. */
function linksOf({ write: { facts } }: Decision): SpanLink[] {
  const parent = readTraceparent(facts?.traceparent ?? '')
  return parent === undefined ? [] : [parent]
}
