import { request } from 'node:http'
import { expect, test } from '@jest/globals'
import { eventually } from '../../lab/harness/eventually.ts'
import { startQueryServer } from '../../src/query/http/query-server.ts'
import type { QueryService, Question, Reply } from '../../src/query/question.ts'
import { ABOUT } from './support/query-api.ts'

/** Thinks about every question until nobody waits any more. */
class EndlessThought implements QueryService {
  readonly asked = Promise.withResolvers<undefined>()
  isGivenUp = false

  ask(_: Question, known: readonly string[] = [], gone?: AbortSignal): Promise<Reply> {
    expect(known).toEqual([])
    this.asked.resolve(undefined)
    const reply = Promise.withResolvers<Reply>()
    gone?.addEventListener('abort', () => {
      reply.reject(gone.reason)
      this.isGivenUp = true
    })
    return reply.promise
  }
}

test.each(['/api/v1/cascades', '/api/search?q=%7B%7D', '/jaeger/api/services'])(
  'whoever hangs up on %s is thought about no longer, and it is no trouble',
  async (path) => {
    const queries = new EndlessThought()
    const troubles: string[] = []
    await using server = await startQueryServer({
      host: '127.0.0.1',
      port: 0,
      queries,
      about: ABOUT,
      onTrouble: (reason) => troubles.push(reason),
    })
    const sent = request({ host: '127.0.0.1', port: server.port, path }).on('error', () => undefined)
    sent.end()
    await queries.asked.promise
    sent.destroy()
    await eventually(() => expect(queries.isGivenUp).toBe(true))
    expect(troubles).toEqual([])
  },
)
