import { expect, test } from '@jest/globals'
import { eventually } from '../../lab/harness/eventually.ts'
import { Followed, WIDGETS } from './support/followed.ts'
import { answerStatus, TestApiServer, type Instead } from './support/test-api-server.ts'

async function withServer(run: (api: TestApiServer, followed: Followed) => Promise<void>): Promise<void> {
  await using api = await TestApiServer.start()
  await using followed = new Followed()
  await run(api, followed)
}

const isWatch = (url = '', listsFirst = false): boolean =>
  url.includes('watch=true') && url.includes('sendInitialEvents') === listsFirst

function once(when: (url: string) => boolean, answer: Instead): Instead {
  let isDone = false
  return (request, response) => {
    if (isDone || !when(request.url ?? '')) return false
    isDone = true
    return answer(request, response)
  }
}

const listed = (followed: Followed): Promise<void> =>
  eventually(() => expect(followed.told.at(-1)).toMatch(/^list ends/))

test('a resource is listed as a stream, then watched in the same request', () =>
  withServer(async (api, followed) => {
    api.history.put({ name: 'a' })
    api.history.put({ name: 'b' })
    followed.follow(api)
    await listed(followed)
    api.history.put({ name: 'a' })
    api.history.remove({ name: 'b' })
    await eventually(() => expect(followed.stored).toBe('104'))
    expect(followed.told).toEqual([
      'list begins',
      'ADDED a@101 first list',
      'ADDED b@102 first list',
      'list ends 102 first list',
      'MODIFIED a@103 event',
      'DELETED b@104 event',
    ])
    expect(api.requests).toHaveLength(1)
  }))

test('an object that cannot be read is left out and told of; those beside it are seen, in lists and as they change', () =>
  withServer(async (api, followed) => {
    followed.poisoned = 'b'
    for (const name of ['a', 'b', 'c']) api.history.put({ name })
    followed.follow(api)
    await listed(followed)
    api.history.put({ name: 'b' })
    api.history.put({ name: 'c' })
    await eventually(() => expect(followed.stored).toBe('105'))
    expect(followed.told.filter((told) => !told.startsWith('list'))).toEqual([
      ...['ADDED a@101 first list', 'ADDED c@103 first list'],
      'MODIFIED c@105 event',
    ])
    expect(followed.unreadable).toEqual(
      Array(2).fill(expect.stringMatching(/^left out default\/b, which cannot be read: RangeError/)),
    )
    expect(api.requests).toHaveLength(1)
    expect(followed.troubles).toEqual([])
  }))

test('a server that does not stream lists is asked for pages, smaller ones where they would be too long', () =>
  withServer(async (api, followed) => {
    api.streamsLists = false
    const text = 'x'.repeat(20_000)
    for (let number = 0; number < 12; number++) api.history.put({ name: `n${number}`, spec: { text } })
    followed.follow(api, { maxPageBytes: 70_000 })
    await listed(followed)
    expect(followed.told.filter((told) => told.startsWith('ADDED'))).toHaveLength(12)
    const limits = api.requests.map((url) => new URL(url, api.url).searchParams.get('limit'))
    expect(limits.slice(1, 8)).toEqual(['250', '50', '10', '2', '2', '2', '2'])
    await eventually(() => expect(api.watchers).toBe(1))
    expect(api.requests.at(-1)).toContain('resourceVersion=112')
  }))

test('a watch goes on from its last version, bookmarks counted, however it ended', () =>
  withServer(async (api, followed) => {
    followed.follow(api)
    await listed(followed)
    for (const end of [() => api.end(), () => api.cut(), () => api.cut(true)]) {
      await eventually(() => expect(api.watchers).toBe(1))
      api.history.put({ name: 'a' })
      api.history.put({ name: 'elsewhere', resource: 'others' })
      api.bookmark()
      const { version } = api.history
      await eventually(() => expect(followed.stored).toBe(String(version)))
      end()
      api.history.put({ name: 'b' })
      await eventually(() => expect(api.requests.at(-1)).toContain(`resourceVersion=${version}`))
      await eventually(() => expect(followed.stored).toBe(String(api.history.version)))
    }
    expect(followed.relists).toEqual([])
    expect(followed.told.filter((told) => told.endsWith('event'))).toHaveLength(6)
  }))

test('a bookmark or an event without a version is no place to go on from', () =>
  withServer(async (api, followed) => {
    followed.follow(api)
    await listed(followed)
    const { version } = api.history
    await eventually(() => expect(api.watchers).toBe(1))
    api.write('{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":""}}}\n')
    api.write('{"type":"BOOKMARK","object":{}}\n')
    api.write('{"type":"MODIFIED","object":{"metadata":{"name":"odd"}}}\n')
    await eventually(() => expect(followed.told.at(-1)).toMatch(/^MODIFIED odd@/))
    api.end()
    await eventually(() => expect(api.requests.at(-1)).toContain(`resourceVersion=${version}`))
    expect([followed.stored, followed.relists]).toEqual([String(version), []])
  }))

test('a list without a version is not taken for one: it is made again', () =>
  withServer(async (api, followed) => {
    let lists = 0
    api.instead.push(({ url = '' }, response) => {
      if (!url.includes('sendInitialEvents') || lists++ > 0) return false
      const end = { annotations: { 'k8s.io/initial-events-end': 'true' } }
      response.end(`${JSON.stringify({ type: 'BOOKMARK', object: { metadata: end } })}\n`)
      return true
    })
    followed.follow(api)
    await listed(followed)
    expect(followed.troubles).toEqual(['its list has no version from which it could be watched'])
    expect(followed.told).toEqual(['list begins', 'list begins', 'list ends 100 first list'])
  }))

test('a version that is no longer kept is listed anew, and what is in the list came while nobody looked', () =>
  withServer(async (api, followed) => {
    followed.stored = '101'
    api.history.put({ name: 'a' })
    api.history.put({ name: 'a' })
    api.history.compact()
    followed.follow(api)
    await listed(followed)
    expect(followed.told).toEqual(['list begins', 'ADDED a@102 later list', 'list ends 102 later list'])
    expect(followed.relists).toEqual(['it says Expired'])
  }))

test('an error in the midst of a watch is one of it', () =>
  withServer(async (api, followed) => {
    api.history.put({ name: 'a' })
    followed.follow(api)
    await listed(followed)
    api.write(
      `${JSON.stringify({ type: 'ERROR', object: { code: 410, reason: 'Expired', message: 'gone' } })}\n`,
    )
    await eventually(() =>
      expect(followed.told.filter((told) => told.startsWith('list ends'))).toHaveLength(2),
    )
    expect(followed.relists).toEqual(['gone'])
  }))

test('a server that says for long that a version is newer than all it has was put back, and is listed anew', () =>
  withServer(async (api, followed) => {
    followed.stored = '5000'
    api.history.put({ name: 'a' })
    followed.follow(api)
    await listed(followed)
    expect(followed.stored).toBe('101')
    expect(followed.troubles).toHaveLength(2)
  }))

test('a server that has too much to do is asked again after the time that it names', () =>
  withServer(async (api, followed) => {
    api.instead.push(
      once(
        (url) => isWatch(url, true),
        (_, response) => {
          response.setHeader('retry-after', '17')
          answerStatus(response, 429, 'TooManyRequests')
          return true
        },
      ),
    )
    followed.follow(api)
    await listed(followed)
    expect(followed.slept).toEqual([17_000])
  }))

const GONE = { type: 'ERROR', object: { code: 410, reason: 'Expired', message: 'gone' } }
const MARK = { type: 'BOOKMARK', object: { metadata: { resourceVersion: '107' } } }
const EVENT = { type: 'MODIFIED', object: { metadata: { name: 'a', resourceVersion: '107' } } }

test.each([
  ['with nothing', []],
  ['after a bookmark', [MARK]],
  ['after an event', [EVENT]],
  ['after it said that the version is gone', [GONE]],
  ['after an event, and said that the version is gone', [EVENT, GONE]],
])('a server that ends each watch at once %s is asked less and less often', (_, lines) =>
  withServer(async (api, followed) => {
    api.instead.push(({ url }, response) => {
      if (!isWatch(url)) return false
      response.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
      return true
    })
    followed.follow(api)
    await listed(followed)
    await eventually(() => expect(api.watchers).toBe(1))
    api.end()
    await eventually(() => {
      // What follows a list in the same request is a watch too.
      if (api.watchers > 0) api.end()
      expect(followed.slept.length).toBeGreaterThan(7)
    })
    expect(followed.slept.slice(1, 7)).toEqual([2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
  }),
)

test.each(['cut', 'end'] as const)(
  'a watch that lasted goes on at once (%s), also where nothing happened',
  (end) =>
    withServer(async (api, followed) => {
      followed.follow(api)
      await listed(followed)
      for (let number = 0; number < 3; number++) {
        await eventually(() => expect(api.watchers).toBe(1))
        followed.now += 60_000_000_000n
        api[end]()
        await eventually(() => expect(api.requests).toHaveLength(number + 2))
      }
      expect(Math.max(...followed.slept, 0)).toBeLessThanOrEqual(end === 'cut' ? 1_000 : 0)
    }),
)

test('what may not be seen is told of, and followed once it may', () =>
  withServer(async (api, followed) => {
    let isForbidden = true
    api.instead.push((_, response) => {
      if (isForbidden) answerStatus(response, 403, 'Forbidden')
      return isForbidden
    })
    followed.follow(api)
    await eventually(() => expect(followed.refused).toContain('it says Forbidden'))
    isForbidden = false
    await listed(followed)
    expect(followed.refused.at(-1)).toBeUndefined()
  }))

test('what could be seen and is refused for a moment, as by an API server that has just begun, is asked for again soon', () =>
  withServer(async (api, followed) => {
    followed.follow(api)
    await listed(followed)
    await eventually(() => expect(api.watchers).toBe(1))
    let refusals = 0
    api.instead.push((_, response) => {
      if (refusals === 3) return false
      refusals++
      answerStatus(response, 403, 'Forbidden')
      return true
    })
    api.end()
    await eventually(() => expect(refusals).toBe(3))
    await eventually(() => expect(api.watchers).toBe(1))
    expect(followed.refused).toEqual([])
    expect(Math.max(...followed.slept)).toBeLessThan(10_000)
  }))

test('what stays refused is told of, and asked for again later and later', () =>
  withServer(async (api, followed) => {
    followed.follow(api)
    await listed(followed)
    await eventually(() => expect(api.watchers).toBe(1))
    api.instead.push((_, response) => {
      answerStatus(response, 403, 'Forbidden')
      return true
    })
    api.end()
    await eventually(() => expect(followed.slept.at(-1)).toBe(300_000))
    expect(followed.refused).toContain('it says Forbidden')
    expect(followed.wasBehindWhenRefused).toBe(false)
  }))

test('lines that are no events and objects that are too long are passed over, others of 1 MB are not', () =>
  withServer(async (api, followed) => {
    followed.follow(api, { maxObjectBytes: 2_000_000 })
    await listed(followed)
    api.history.put({ name: 'huge', spec: { text: 'x'.repeat(2_500_000) } })
    api.write('no event\n')
    api.history.put({ name: 'large', spec: { text: 'x'.repeat(1_000_000) } })
    await eventually(() => expect(followed.told.at(-1)).toBe('ADDED large@102 event'))
    expect(followed.unreadable).toEqual([
      expect.stringMatching(/^left out an object of more than 25/),
      'left out a line that is no watch event',
    ])
  }))

test('nothing is read while nothing is taken', () =>
  withServer(async (api, followed) => {
    followed.follow(api, { maxItems: 10 })
    await listed(followed)
    const { promise, resolve } = Promise.withResolvers<undefined>()
    followed.beforeTaking = () => promise
    const text = 'x'.repeat(100_000)
    for (let number = 0; number < 300; number++) api.history.put({ name: `n${number}`, spec: { text } })
    // By the time that somebody else has read all of it, what neither side holds waits in the server.
    await using other = new Followed().follow(api)
    await eventually(() => expect(other.told).toHaveLength(302))
    expect(api.unsentBytes).toBeGreaterThan(10_000_000)
    expect(followed.told).toHaveLength(2)
    resolve(undefined)
    await eventually(() => expect(followed.told).toHaveLength(302))
  }))

test('a namespace and selectors are asked for', () =>
  withServer(async (api, followed) => {
    api.history.put({ name: 'a', namespace: 'team' })
    api.history.put({ name: 'b' })
    followed.follow(api, {}, { ...WIDGETS, namespace: 'team', labelSelector: 'app in (a,b)' })
    await listed(followed)
    expect(followed.told[1]).toBe('ADDED a@101 first list')
    expect(api.requests[0]).toMatch(
      /^\/apis\/example.com\/v1\/namespaces\/team\/widgets\?.*labelSelector=app\+in\+%28a%2Cb%29$/,
    )
  }))

test('of a resource that came to be while its cluster was watched nothing was there before, but what is older than the watch', () =>
  withServer(async (api, followed) => {
    api.history.put({ name: 'new', created: '2026-01-31T08:00:01Z' })
    api.history.put({ name: 'old', created: '2026-01-31T07:59:59Z' })
    api.history.put({ name: 'of no time' })
    followed.follow(api, {}, WIDGETS, BigInt(Date.parse('2026-01-31T08:00:00.500Z')) * 1_000_000n)
    await listed(followed)
    expect(followed.told.slice(1, 4)).toEqual([
      'ADDED new@101 later list',
      'ADDED old@102 first list',
      'ADDED of no time@103 later list',
    ])
  }))

test('a stream is behind until it is listed, and from the end of a watch until that goes on', () =>
  withServer(async (api, followed) => {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    followed.beforeTaking = () => promise
    api.history.put({ name: 'a' })
    followed.follow(api)
    await eventually(() => expect(api.watchers).toBe(1))
    expect(followed.isBehind).toBe(true)
    resolve(undefined)
    await eventually(() => expect(followed.isBehind).toBe(false))

    let isDown = true
    api.instead.push((_, response) => {
      if (isDown) answerStatus(response, 503, 'ServiceUnavailable')
      return isDown
    })
    api.end()
    await eventually(() => expect(followed.slept.length).toBeGreaterThan(2))
    expect(followed.isBehind).toBe(true)
    isDown = false
    await eventually(() => expect(followed.isBehind).toBe(false))
    expect(api.watchers).toBe(1)
  }))

test('what may not be seen is not behind: nothing comes of it', () =>
  withServer(async (api, followed) => {
    api.instead.push((_, response) => {
      answerStatus(response, 403, 'Forbidden')
      return true
    })
    followed.follow(api)
    await eventually(() => expect(followed.refused).toContain('it says Forbidden'))
    expect(followed.wasBehindWhenRefused).toBe(false)
  }))
