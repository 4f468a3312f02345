import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'

/** Writes one protobuf message with the fields that `write` gives it. */
export function message(write: (to: BinaryWriter) => unknown): Uint8Array {
  const writer = new BinaryWriter()
  write(writer)
  return writer.finish()
}

export const bytesField = (to: BinaryWriter, no: number, bytes: Uint8Array): BinaryWriter =>
  to.tag(no, WireType.LengthDelimited).bytes(bytes)

export const textField = (to: BinaryWriter, no: number, text: string): BinaryWriter =>
  to.tag(no, WireType.LengthDelimited).string(text)

/** An Export*ServiceResponse with a partial success. */
export function partialSuccess(rejected: number, errorMessage: string): Buffer {
  const partial = message((to) => textField(to.tag(1, WireType.Varint).int64(rejected), 2, errorMessage))
  return Buffer.from(message((to) => bytesField(to, 1, partial)))
}

/** A google.rpc.Status, with a RetryInfo detail when a delay is given. */
export function rpcStatus(text: string, delay?: { seconds: number; nanos: number }): Buffer {
  return Buffer.from(
    message((to) => {
      textField(to, 2, text)
      bytesField(to, 3, anyOf('google.rpc.DebugInfo', new Uint8Array()))
      if (delay) bytesField(to, 3, anyOf('google.rpc.RetryInfo', retryInfo(delay)))
    }),
  )
}

function anyOf(type: string, value: Uint8Array): Uint8Array {
  return message((to) => bytesField(textField(to, 1, `type.googleapis.com/${type}`), 2, value))
}

function retryInfo({ seconds, nanos }: { seconds: number; nanos: number }): Uint8Array {
  const duration = message((to) =>
    to.tag(1, WireType.Varint).int64(seconds).tag(2, WireType.Varint).int32(nanos),
  )
  return message((to) => bytesField(to, 1, duration))
}
