import {
  appendFileSync,
  copyFileSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LogFollower, type LogFollowerSettings } from '../../../../src/receiver/k8s-audit/audit-log.ts'
import type { ReadObservations } from '../../../../src/receiver/observation-reporter.ts'

/** An event as the API server writes it into a line of its log; `id` tells it from others. */
export function auditLine(id: string, change: Record<string, unknown> = {}): string {
  const event = {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'RequestResponse',
    auditID: id,
    stage: 'ResponseComplete',
    requestURI: '/api/v1/namespaces/shop/pods/web',
    verb: 'update',
    user: { username: 'alice' },
    objectRef: { resource: 'pods', namespace: 'shop', name: 'web', apiVersion: 'v1' },
    responseStatus: { code: 200 },
    responseObject: {
      kind: 'Pod',
      apiVersion: 'v1',
      metadata: { name: 'web', namespace: 'shop', uid: 'u1', resourceVersion: '42' },
    },
    requestReceivedTimestamp: '2026-11-22T03:00:38.160517Z',
    stageTimestamp: '2026-11-22T03:00:38.214417Z',
    ...change,
  }
  return `${JSON.stringify(event)}\n`
}

/** A directory with an audit log in it, whose files are as old as they would be. */
export class AuditLog implements Disposable {
  readonly directory = mkdtempSync(join(tmpdir(), 'causeway-audit-'))
  readonly path = join(this.directory, 'audit.log')
  #seconds = 1_700_000_000
  #rotations = 0

  append(text: string): void {
    appendFileSync(this.path, text)
    this.#touch(this.path)
  }

  /** As the API server rotates its log. */
  rename(): void {
    renameSync(this.path, join(this.directory, `audit-${String(++this.#rotations).padStart(4, '0')}.log`))
    writeFileSync(this.path, '')
    this.#touch(this.path)
  }

  /** As logrotate does with copytruncate. */
  copyAndTruncate(): void {
    const copy = `${this.path}-${String(++this.#rotations).padStart(4, '0')}`
    copyFileSync(this.path, copy)
    this.#touch(copy)
    this.truncate()
  }

  truncate(): void {
    truncateSync(this.path)
    this.#touch(this.path)
  }

  [Symbol.dispose](): void {
    rmSync(this.directory, { recursive: true })
  }

  #touch(path: string): void {
    this.#seconds++
    utimesSync(path, this.#seconds, this.#seconds)
  }
}

/** What a follower told, over all its lives: it begins anew where it was, as after a restart. */
export class Followed {
  readonly ids: string[] = []
  readonly told: ReadObservations[] = []
  readonly troubles: string[] = []
  unreadable = 0
  behind = 0
  position: string | undefined
  /** Nothing is stored any more. */
  isStopped = false
  readonly #settings: LogFollowerSettings
  #follower: LogFollower | undefined

  constructor(path: string, settings: Partial<LogFollowerSettings> = {}) {
    this.#settings = {
      path,
      startAt: 'beginning',
      maxLineBytes: 4_096,
      turnBytes: 2_048,
      reading: { references: [], fieldValues: 'plain' },
      ...settings,
    }
  }

  /** Something was read of the file that is the log now. */
  get hasBegun(): boolean {
    const { inode, offset } = JSON.parse(this.position ?? '{}') as { inode?: string; offset?: number }
    return inode === String(statSync(this.#settings.path).ino) && (offset ?? 0) > 0
  }

  look(): Promise<boolean> {
    this.#follower ??= new LogFollower(this.#settings, {
      position: () => Promise.resolve(this.position),
      report: (read) => Promise.resolve(this.#take(read)),
      unreadable: (count) => void (this.unreadable += count),
      behind: (bytes) => void (this.behind = bytes),
      onTrouble: (reason) => void this.troubles.push(reason),
    })
    return this.#follower.look()
  }

  /** Reads all there is. */
  async readAll(): Promise<void> {
    while (await this.look());
  }

  async restart(): Promise<void> {
    await this.#follower?.[Symbol.asyncDispose]()
    this.#follower = undefined
    this.isStopped = false
  }

  #take(told: ReadObservations): boolean {
    if (this.isStopped) return false
    this.told.push(told)
    for (const one of told.observations) if (one.source === 'audit') this.ids.push(one.request.auditId ?? '')
    this.position = told.position ?? this.position
    return true
  }
}
