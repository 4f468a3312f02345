import type { KnownObject } from '../../model/inference-store.ts'
import type { ObjectFacts } from '../../model/kubernetes-objects.ts'
import type { ClusterWrite } from '../../model/kubernetes-observations.ts'
import type { ReportedWrite } from '../../model/reported-writes.ts'
import { announcedChange } from './announced-change.ts'

/** The most programs known per cluster. The one that has reported nothing for longest is forgotten. */
const MOST_PROGRAMS = 1_000
/** The most service names under which a program reports its writes. */
const MOST_SERVICES = 8
/** After a program did not report this many writes in a row, its reports are no longer awaited until it reports one again. */
const MOST_MISSED = 3

/** Users of Kubernetes itself, whose controllers copy the annotations of others. */
const OF_KUBERNETES = /^system:(?!serviceaccount:(?!kube-system:))/
const MANAGERS_OF_KUBERNETES = /^(?:kube-|kubelet$)/

interface Program {
  /** The service names under which it reports. */
  readonly services: Set<string>
  missed: number
}

/** A write, and what is needed to find out whether its writer reports it. */
export interface Asked {
  readonly write: ClusterWrite
  /** The object, as far as it is decided. */
  readonly object: KnownObject | undefined
  /** Whether a CPID is that of an owner's change, copied with the owner's annotations. */
  readonly isCopied: (cpid: string) => boolean
}

/**
 * Which programs of a cluster report their own writes. A program is added once a span names a version and carries the CPID that the writer
 * of this version put there. So no other program can hide a write by claiming it.
 */
export class Participants {
  readonly #programs = new Map<string, Program>()
  readonly #services = new Set<string>()

  /** Whether the writer may be a program that reports its writes. In most clusters there is none. */
  mayTell({ facts }: ClusterWrite): boolean {
    return this.#services.size > 0 || facts?.cpid !== undefined
  }

  /** Whether to wait for the writer's own report. */
  isAwaited({ write, object, isCopied }: Asked): boolean {
    if (write.listed !== undefined) return false
    const name = programThatWrote(write)
    const program = name === undefined ? undefined : this.#programs.get(name)
    if (name === undefined && write.request !== undefined) return false
    if (program !== undefined && program.missed >= MOST_MISSED) return false
    if (program !== undefined && program.services.size > 0) return true
    if (name !== undefined && bringsOwnCpid(write, object) && !isCopied(write.facts?.cpid ?? '')) return true
    return this.#services.size > 0 && announcedChange(write, object) !== undefined
  }

  /** The writer's report was awaited for as long as allowed, and did not come. */
  noteMissed(write: ClusterWrite): void {
    const name = programThatWrote(write)
    if (name !== undefined) this.#programOf(name).missed++
  }

  /** The writer's own span: of `versioned`, which name the version, or, if the write `ends` the object, of `unversioned`. */
  ownReportOf(
    { write, object, isCopied }: Asked,
    versioned: readonly ReportedWrite[],
    unversioned: () => readonly ReportedWrite[],
    ends: 'deletion' | 'removal' | undefined,
  ): ReportedWrite | undefined {
    const name = programThatWrote(write)
    if (name === undefined && write.request !== undefined) return undefined
    const cpid = write.facts?.cpid
    if (name !== undefined && cpid !== undefined && bringsOwnCpid(write, object) && !isCopied(cpid)) {
      const own = versioned.find((one) => one.cpid === cpid)
      if (own !== undefined) {
        this.#noteTold(name, own.service)
        return own
      }
    }
    const services = name === undefined ? this.#services : this.#programs.get(name)?.services
    if (services === undefined) return undefined
    const found =
      versioned.find(({ service }) => services.has(service)) ??
      (ends === undefined ? [] : unversioned()).find(
        ({ service, name: told }) => services.has(service) && DELETES.test(told) === (ends === 'deletion'),
      )
    if (found !== undefined && name !== undefined) this.#programOf(name).missed = 0
    return found
  }

  #noteTold(name: string, service: string): void {
    const program = this.#programOf(name)
    program.missed = 0
    if (program.services.size < MOST_SERVICES) program.services.add(service)
    if (this.#services.size < MOST_PROGRAMS) this.#services.add(service)
  }

  #programOf(name: string): Program {
    const program = this.#programs.get(name) ?? { services: new Set<string>(), missed: 0 }
    this.#programs.delete(name)
    this.#programs.set(name, program)
    if (this.#programs.size > MOST_PROGRAMS) {
      const [oldest = ''] = this.#programs.keys()
      this.#programs.delete(oldest)
    }
    return program
  }
}

/** The names of spans that delete. */
const DELETES = /\b(?:delete|evict)/

/**
 * What identifies the program that wrote: the user and the user agent of the request, else the last manager. Undefined for Kubernetes'
 * own programs.
 */
function programThatWrote({ request, facts }: ClusterWrite): string | undefined {
  if (request !== undefined) {
    const { user, userAgent } = request.actor
    return OF_KUBERNETES.test(user) ? undefined : `${user} ${userAgent}`
  }
  const latest = latestManager(facts)
  return latest === undefined || MANAGERS_OF_KUBERNETES.test(latest) ? undefined : latest
}

function latestManager(facts: ObjectFacts | undefined): string | undefined {
  const managers = facts?.managers ?? []
  const latest = managers.reduce((time, one) => (one.time > time ? one.time : time), '')
  return managers.findLast(({ time }) => time === latest)?.manager
}

/** Whether a version carries a CPID that the version before did not. */
function bringsOwnCpid({ facts, version }: ClusterWrite, object: KnownObject | undefined): boolean {
  if (facts?.cpid === undefined) return false
  const before = object?.versions.find((one) => version === undefined || one.version < version)
  return before?.facts.cpid !== facts.cpid
}
