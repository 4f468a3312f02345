import { useMemo, useState } from 'preact/hooks'
import type { Cascade } from '../../../src/query/answer-schemas.ts'
import type { ObjectWrite, TouchedObject, TouchedObjects } from '../../../src/query/object-answer-schemas.ts'
import { askAgainMs, useAnswer } from '../api/use-answer.ts'
import { go, hrefTo, hrefWith } from '../app/address.ts'
import { ActorMark } from '../parts/actor-mark.tsx'
import { CauseMark } from '../parts/cause-mark.tsx'
import { ChangedFields } from '../parts/changed-fields.tsx'
import { Notice, Pending } from '../parts/notice.tsx'
import { ObjectMark } from '../parts/object-mark.tsx'
import { duration } from '../text/duration.ts'
import { singular } from '../text/change-sentence.ts'
import { objectName } from '../text/object-name.ts'

const ASK_AGAIN_MS = 2_000
/** If an owner has more objects, the others are shown on request. */
const SHOWN = 12

type Deed = TouchedObject['deeds'][number]

/** Each has a sign and a word, so that it does not depend on colour alone. */
const DEEDS: Readonly<Record<Deed, { sign: string; word: string }>> = {
  failed: { sign: '!', word: 'failed' },
  made: { sign: '+', word: 'made' },
  changed: { sign: '~', word: 'changed' },
  status: { sign: '○', word: 'status only' },
  went: { sign: '−', word: 'went' },
}

interface Branch {
  readonly touched: TouchedObject
  readonly owned: Branch[]
}

/** The objects of a cascade, owners down to what they own, with what the change did to each. */
export function ObjectTreePanel({ cascade, search }: { cascade: Cascade; search: URLSearchParams }) {
  const answer = useAnswer<TouchedObjects>(`/api/v1/cascades/${cascade.root}/objects`, () =>
    askAgainMs(cascade.state, ASK_AGAIN_MS),
  )
  const only = search.get('deed') ?? ''
  const objects = answer.data?.objects
  const tree = useMemo(() => treeOf(objects ?? [], only), [objects, only])
  if (answer.data === undefined || objects === undefined || answer.isLoading)
    return <Pending answer={answer} what="its objects" />
  if (objects.length === 0) {
    return (
      <Notice title="No span says which objects it wrote">
        <p>
          Controllers name the objects that they wrote in <code>cpid.wrote</code>, and the owner of an object
          in <code>cpid.owner</code>.
        </p>
      </Notice>
    )
  }
  return (
    <>
      <DeedCounts objects={objects} only={only} />
      {answer.data.truncated && (
        <p class="note">
          The change touched {answer.data.leftOut.toLocaleString('en')} more objects, which are neither shown
          nor counted here. Shown are all objects that failed, and the first of the others. The search box
          above finds the rest by name.
        </p>
      )}
      {tree.length === 0 && <p class="muted">No object matches.</p>}
      <ul class="object-tree" aria-label="Objects, owners first">
        <Branches branches={tree} />
      </ul>
    </>
  )
}

/** How many objects the change created, updated and so on. Each count filters the tree. */
function DeedCounts({ objects, only }: { objects: readonly TouchedObject[]; only: string }) {
  return (
    <div class="panel-tools" role="group" aria-label="What was done">
      {(Object.keys(DEEDS) as Deed[]).map((deed) => {
        const count = objects.filter(({ deeds }) => deeds.includes(deed)).length
        if (count === 0) return null
        return (
          <button
            key={deed}
            type="button"
            aria-pressed={only === deed}
            onClick={() => go(hrefWith({ deed: only === deed ? null : deed }), { replace: true })}
          >
            <DeedMark deed={deed} /> <span class="number">{count.toLocaleString('en')}</span>
          </button>
        )
      })}
      <span class="muted hint">Open an object to see its writes, and the fields that each changed.</span>
    </div>
  )
}

function DeedMark({ deed }: { deed: Deed }) {
  const { sign, word } = DEEDS[deed]
  return (
    <span class={`deed ${deed}`}>
      <span class="sign" aria-hidden="true">
        {sign}
      </span>
      {word}
    </span>
  )
}

function Branches({ branches }: { branches: readonly Branch[] }) {
  const [isAll, setIsAll] = useState(false)
  const shown = isAll ? branches : branches.slice(0, SHOWN)
  return (
    <>
      {shown.map((branch) => (
        <li key={branch.touched.object}>
          <TouchedRow touched={branch.touched} />
          {branch.owned.length > 0 && (
            <ul>
              <Branches branches={branch.owned} />
            </ul>
          )}
        </li>
      ))}
      {branches.length > shown.length && (
        <li>
          <button type="button" class="quiet" onClick={() => setIsAll(true)}>
            {(branches.length - shown.length).toLocaleString('en')} more
          </button>
        </li>
      )}
    </>
  )
}

function TouchedRow({ touched }: { touched: TouchedObject }) {
  const { object, deeds, failed, writes, writeCount, ownership, supersededBy } = touched
  const last = writes.at(-1)
  const head = (
    <>
      <ObjectMark reference={object} />
      {deeds.map((deed) => (
        <DeedMark key={deed} deed={deed} />
      ))}
      {failed > 1 && <span class="warning number">{failed} times</span>}
      {supersededBy !== undefined && <span class="cause superseded">superseded</span>}
      {ownership === 'name' && (
        <span
          class="muted hint"
          title="No span names its owner. Causeway concludes it from the object’s name and from what was read to write it."
        >
          by its name
        </span>
      )}
      {deeds.length === 0 && <span class="muted">not written by this change</span>}
    </>
  )
  const why = (
    <a class="why" href={hrefTo('/objects', { ref: object, view: 'why' })}>
      Why?<span class="visually-hidden"> {nameOf(object)}</span>
    </a>
  )
  if (last === undefined)
    return (
      <div class="touched">
        <span class="touched-head">{head}</span> {why}
      </div>
    )
  return (
    <div class="touched">
      <details>
        <summary class="touched-head">
          {head}
          <span class="muted number">
            {writeCount === 1 ? '1 write' : `${writeCount.toLocaleString('en')} writes`}
          </span>
        </summary>
        <Writes writes={writes.toSorted((a, b) => a.offsetMs - b.offsetMs)} count={writeCount} />
      </details>
      {why}
    </div>
  )
}

function Writes({ writes, count }: { writes: readonly ObjectWrite[]; count: number }) {
  const half = Math.ceil(writes.length / 2)
  const left = count - writes.length
  return (
    <ol class="writes">
      {writes.map((write, at) => (
        <>
          {left > 0 && at === half && (
            <li key="left" class="muted">
              {left.toLocaleString('en')} more between
            </li>
          )}
          <li key={`${write.spanId} ${write.version ?? ''}`}>
            <span class="write-line">
              <span class="number muted">{duration(write.offsetMs)}</span>
              <a href={hrefWith({ span: write.spanId, view: null, deed: null })}>{write.name}</a>
              <ActorMark actor={write.user} service={write.service} />
              <CauseMark cause={write.cause} gap={undefined} />
              {write.failed && <span class="warning">failed</span>}
              {write.version !== null && <span class="muted number">version {write.version}</span>}
            </span>
            <ChangedFields changed={write.changed} />
          </li>
        </>
      ))}
    </ol>
  )
}

function nameOf(object: string): string {
  const { resource, name } = objectName(object)
  return `${singular(resource)} ${name}`
}

/** Owners stay if something they own is shown. Failed objects come first under their owner. */
function treeOf(objects: readonly TouchedObject[], only: string): Branch[] {
  const branches = new Map(
    objects.map((touched): [string, Branch] => [touched.object, { touched, owned: [] }]),
  )
  const tops: Branch[] = []
  for (const branch of branches.values())
    (branches.get(branch.touched.owner ?? '')?.owned ?? tops).push(branch)
  return only === '' ? failedFirst(tops) : failedFirst(tops).flatMap((top) => withDeed(top, only) ?? [])
}

function withDeed(branch: Branch, only: string): Branch | undefined {
  const owned = branch.owned.flatMap((one) => withDeed(one, only) ?? [])
  const isOne = branch.touched.deeds.some((deed) => deed === only)
  return isOne || owned.length > 0 ? { touched: branch.touched, owned } : undefined
}

function failedFirst(branches: Branch[]): Branch[] {
  for (const { owned } of branches) failedFirst(owned)
  return branches.sort((one, other) => Number(hasFailed(other)) - Number(hasFailed(one)))
}

function hasFailed({ touched, owned }: Branch): boolean {
  return touched.failed > 0 || owned.some(hasFailed)
}
