import { allBytes, lastBytes, type WireField, wireFields } from './wire-fields.ts'

/** One span or log record of an export request, with the resource and scope it came under, as protobuf fields. */
export interface RequestItem {
  resource: WireField[]
  scope: WireField[]
  item: WireField[]
}

const GROUPS = 1
const RESOURCE_OR_SCOPE = 1
const CHILDREN = 2

/**
 * The spans of an ExportTraceServiceRequest or the records of an ExportLogsServiceRequest, which nest alike,
 * and how many resources they came under. Throws when the bytes are not a request.
 */
export function walkRequest(request: Uint8Array): { resources: number; items: RequestItem[] } {
  const groups = allBytes(wireFields(request), GROUPS).map((group) => wireFields(group))
  const items = groups.flatMap((group) => {
    const resource = wireFields(lastBytes(group, RESOURCE_OR_SCOPE))
    return allBytes(group, CHILDREN).flatMap((bytes) => {
      const scoped = wireFields(bytes)
      const scope = wireFields(lastBytes(scoped, RESOURCE_OR_SCOPE))
      return allBytes(scoped, CHILDREN).map((item) => ({ resource, scope, item: wireFields(item) }))
    })
  })
  return { resources: groups.length, items }
}
