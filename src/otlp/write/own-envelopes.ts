import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { CLUSTER_NAME, SERVICE_NAME } from '../../model/attributes.ts'
import { encodeAttribute } from './encode-span.ts'

/** A ResourceSpans without scopes whose resource has only a service name, and a cluster where it has one. */
export function serviceEnvelope(service: string, cluster = ''): Buffer {
  const resource = new BinaryWriter()
    .tag(1, WireType.LengthDelimited)
    .bytes(encodeAttribute(SERVICE_NAME, service))
  if (cluster !== '') resource.tag(1, WireType.LengthDelimited).bytes(encodeAttribute(CLUSTER_NAME, cluster))
  return Buffer.from(new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(resource.finish()).finish())
}

/** A ScopeSpans without spans whose scope has only a name. */
export function scopeEnvelope(name: string): Buffer {
  const scope = new BinaryWriter().tag(1, WireType.LengthDelimited).string(name)
  return Buffer.from(new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(scope.finish()).finish())
}
