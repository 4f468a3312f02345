import { expect, test } from '@jest/globals'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { EventFollower, watchedEvents } from '../../src/receiver/k8s-events/start-k8s-events.ts'
import { ObservationReporter } from '../../src/receiver/observation-reporter.ts'
import { noWaiting } from '../cluster/support/followed.ts'
import { SourceHost } from './support/source-host.ts'

const VERBS = ['get', 'list', 'watch']
const events = (group: string, verbs = VERBS) => ({
  ...{ group, apiVersion: group === '' ? 'v1' : `${group}/v1`, resource: 'events', kind: 'Event' },
  ...{ isNamespaced: true, verbs },
})

test('Events are watched as the group of their own has them, else as the core does, of some namespaces or all', () => {
  const both = [events(''), events('events.k8s.io')]
  expect(watchedEvents(both, [])).toMatchObject([{ apiVersion: 'events.k8s.io/v1', namespace: '' }])
  expect(watchedEvents([events('')], ['a', 'b'])).toMatchObject([
    { apiVersion: 'v1', namespace: 'a' },
    { apiVersion: 'v1', namespace: 'b' },
  ])
  expect(watchedEvents([events(''), events('events.k8s.io', ['get'])], [])).toMatchObject([
    { apiVersion: 'v1' },
  ])
  expect(watchedEvents([{ ...events(''), resource: 'pods' }], [])).toEqual([])
})

const event = (version: string): JsonObject => ({
  kind: 'Event',
  apiVersion: 'events.k8s.io/v1',
  metadata: { name: 'web.1', namespace: 'shop', uid: 'e1', resourceVersion: version },
  regarding: { kind: 'Pod', apiVersion: 'v1', namespace: 'shop', name: 'web' },
  reason: 'Pulled',
})

function followed() {
  const host = new SourceHost()
  const stop = new AbortController()
  const given = host.of()
  const reporter = new ObservationReporter({
    ...{
      receiver: 'k8s_events',
      cluster: 'prod',
      stream: 'k8s_events v1/events',
      port: given.observationPort,
    },
    waiting: noWaiting([], () => 5n),
    ...{ memory: host.memory, observer: given.clusterObserver, onTrouble: given.onTrouble },
  })
  return { host, stop, follower: new EventFollower(reporter, stop.signal) }
}

test('an Event is told when it comes, and again when it comes again, but not when it goes or was there before', async () => {
  const { host, follower } = followed()
  expect(await follower.position()).toBeUndefined()
  expect(follower.read('ADDED', event('3'), 'first list')).toBeUndefined()
  const came = follower.read('ADDED', event('4'), 'event')
  const again = follower.read('MODIFIED', event('5'), 'later list')
  expect(follower.read('DELETED', event('6'), 'event')).toBeUndefined()
  expect(follower.read('ADDED', { kind: 'Event' }, 'event')).toBeUndefined()
  await follower.take([came!, again!], '6')
  expect(host.store.tellings).toMatchObject([
    { cluster: 'prod', position: '6', observations: [{ source: 'event', version: 4n }, { version: 5n }] },
  ])
  expect([host.told, host.skipped]).toEqual([2, { event: 2, no_object: 1 }])
  expect(await follower.position()).toBe('6')
})

test('what is not stored is told again, until everything ends', async () => {
  const { host, stop, follower } = followed()
  host.store.outcomes.push({ kind: 'busy', retryAfterMs: 1, reason: 'full' })
  await follower.take([], '7')
  expect(await follower.position()).toBe('7')
  stop.abort()
  await expect(follower.take([], '8')).rejects.toThrow('aborted')
  expect(await follower.position()).toBe('7')
})

test('a version that is no integer leaves Events out', () => {
  const { follower } = followed()
  expect(() => follower.read('ADDED', event('abc'), 'event')).toThrow('are no integers')
})
