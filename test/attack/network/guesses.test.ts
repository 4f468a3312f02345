import { test } from '@jest/globals'
import { hashSync } from 'bcryptjs'
import { request } from 'node:http'
import { AttackedCauseway, leaveNothingBehind } from '../attacked-causeway.ts'

/** As htpasswd -B has it, and as is usual. */
const USERS = `alice:${hashSync('wonderland', 5)}\nbob:${hashSync('builder', 10)}`
const GUESSERS = 48
const FOR_MS = 5_000

leaveNothingBehind()

const login = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

/** Shows one wrong password; resolves when that was answered, however it was. */
function guess(
  port: number,
  localAddress: string,
  authorization: string,
  signal: AbortSignal,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const asked = request({
    host: '127.0.0.1',
    port,
    localAddress,
    agent: false,
    headers: { authorization },
    signal,
  })
  asked.on('response', (response) => response.resume().on('close', () => resolve(undefined)))
  asked.on('error', () => resolve(undefined))
  asked.end()
  return promise
}

test('guesses of passwords from many addresses at every listener that asks for one', async () => {
  const auth = { authenticator: 'basicauth' }
  await using causeway = await AttackedCauseway.start({
    query: { auth },
    patch: {
      extensions: { basicauth: { htpasswd: { inline: USERS } } },
      receivers: { otlp: { protocols: { grpc: { auth }, http: { auth } } } },
    },
    victim: { headers: { authorization: login('bob', 'builder') } },
  })
  await causeway.withstands(
    async ({ ports }, signal) => {
      let guesses = 0
      const guessers = Array.from({ length: GUESSERS }, async (_, at) => {
        const port = at % 2 === 0 ? ports.query : ports.http
        while (!signal.aborted)
          await guess(
            port,
            `127.0.2.${at + 1}`,
            login(at % 3 === 0 ? 'bob' : `user ${at}`, `${guesses++}`),
            signal,
          )
      })
      await Promise.all(guessers)
    },
    { what: 'guesses', longestMs: FOR_MS },
  )
})
