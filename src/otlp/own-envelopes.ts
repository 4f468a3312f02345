import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { SERVICE_NAME } from '../model/attributes.ts'
import { encodeAttribute } from './encode-span.ts'

/** A ResourceSpans without scopes whose resource has only a service name. */
export function serviceEnvelope(service: string): Buffer {
  const resource = new BinaryWriter()
    .tag(1, WireType.LengthDelimited)
    .bytes(encodeAttribute(SERVICE_NAME, service))
  return Buffer.from(new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(resource.finish()).finish())
}

/** A ScopeSpans without spans whose scope has only a name. */
export function scopeEnvelope(name: string): Buffer {
  const scope = new BinaryWriter().tag(1, WireType.LengthDelimited).string(name)
  return Buffer.from(new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(scope.finish()).finish())
}
