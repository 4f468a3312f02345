import { parseCpid } from '../model/cpid.ts'
import {
  PRINT,
  type FieldManager,
  type ObjectFacts,
  type OwnerReference,
} from '../model/kubernetes/object-facts.ts'
import type { CustomReference } from '../model/kubernetes/custom-reference.ts'
import { contentOf } from './content-of-kind.ts'
import { customContent } from './custom-content.ts'
import { arrayIn, booleanIn, numberIn, objectIn, textIn, type Json, type JsonObject } from './json-access.ts'
import { printOf, printsOf } from './print-of.ts'

const CPID = 'causeway.io/cpid'
const ANCESTORS = 'causeway.io/ancestor-cpids'
const TRACEPARENT = 'tracing.k8s.io/traceparent'
const OF_A_CHANGE = new Set([CPID, ANCESTORS, TRACEPARENT])
const MAX_OWNERS = 16
const MAX_MANAGERS = 32
/** An EndpointSlice lists a thousand Pods at most. */
const MAX_REFERENCES = 2_000

/** Fields of a status that its writer sets to say that it lives, wherever they stand. */
const HEARTBEATS = new Set(['lastHeartbeatTime', 'lastProbeTime', 'renewTime', 'observedTime'])
/** What the API server keeps of an object, which no author writes, and the name that it may have made. */
const OF_THE_SERVER = new Set([
  'managedFields',
  'resourceVersion',
  'generation',
  'uid',
  'creationTimestamp',
  'selfLink',
  'name',
  'generateName',
])

/**
 * What inference needs to know of a version of an object of a resource; the rest of it is not kept. `custom` are places that
 * configuration tells of.
 */
export function readObjectFacts(
  object: JsonObject,
  resource = '',
  custom: readonly CustomReference[] = [],
): ObjectFacts {
  const metadata = objectIn(object, 'metadata')
  const annotations = objectIn(metadata, 'annotations')
  const { status, ...authored } = object
  const { references, prints } = contentOf(object)
  const cpid = parseCpid(textIn(annotations, CPID))
  const ancestors = textIn(annotations, ANCESTORS)
  const traceparent = textIn(annotations, TRACEPARENT)
  const ofAuthor = withoutServerFields(metadata)
  const ofStatus = printsOf(status, HEARTBEATS)
  return {
    generation: numberIn(metadata, 'generation'),
    owners: arrayIn(metadata, 'ownerReferences').slice(0, MAX_OWNERS).map(readOwner),
    references: [
      ...references.slice(0, MAX_REFERENCES),
      ...(custom.length === 0 ? [] : customContent(object, resource, custom)),
    ],
    managers: arrayIn(metadata, 'managedFields').slice(-MAX_MANAGERS).map(readManager),
    deleting: textIn(metadata, 'deletionTimestamp') !== '',
    prints: {
      ...prints,
      [PRINT.authored]: printOf({ ...authored, metadata: ofAuthor }),
      ...(cpid !== undefined && {
        [PRINT.content]: printOf({ ...authored, metadata: withoutChange(ofAuthor) }),
      }),
      [PRINT.status]: ofStatus.counted,
      [PRINT.heartbeat]: ofStatus.whole,
    },
    ...(cpid !== undefined && { cpid }),
    ...(ancestors !== '' && { ancestors }),
    ...(traceparent !== '' && { traceparent }),
  }
}

function withoutServerFields(metadata: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => !OF_THE_SERVER.has(key)))
}

/** Nothing is left of annotations where there are no others. */
function withoutChange(metadata: JsonObject): JsonObject {
  const { annotations, ...rest } = metadata
  const others = Object.entries(objectIn({ annotations: annotations ?? null }, 'annotations')).filter(
    ([key]) => !OF_A_CHANGE.has(key),
  )
  return others.length === 0 ? rest : { ...rest, annotations: Object.fromEntries(others) }
}

function readOwner(owner: Json): OwnerReference {
  return {
    kind: textIn(owner, 'kind'),
    name: textIn(owner, 'name'),
    uid: textIn(owner, 'uid'),
    controller: booleanIn(owner, 'controller'),
  }
}

function readManager(entry: Json): FieldManager {
  return {
    manager: textIn(entry, 'manager'),
    operation: textIn(entry, 'operation'),
    subresource: textIn(entry, 'subresource'),
    time: textIn(entry, 'time'),
  }
}
