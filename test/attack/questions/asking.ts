import { request } from 'node:http'

/** Asks with Node's own HTTP, as a program that sends whatever headers it likes; undefined when it was cut off. */
export function askOver(
  port: number,
  path: string,
  { headers = {}, hangUpAfterMs, localAddress = '127.0.0.1' }: AskingChoice = {},
): Promise<number | undefined> {
  const { promise, resolve } = Promise.withResolvers<number | undefined>()
  const asked = request(
    { host: '127.0.0.1', localAddress, port, path, headers, agent: false },
    (response) => {
      response.resume().on('error', () => resolve(undefined))
      response.on('end', () => resolve(response.statusCode))
    },
  )
  asked.on('error', () => resolve(undefined)).on('close', () => resolve(undefined))
  if (hangUpAfterMs !== undefined) setTimeout(() => asked.destroy(), hangUpAfterMs)
  asked.end()
  return promise
}

export interface AskingChoice {
  headers?: Readonly<Record<string, string>>
  /** It does not wait for the answer for longer. */
  hangUpAfterMs?: number
  localAddress?: string
}
