import { useMemo } from 'preact/hooks'
import type { Why } from '../../../src/query/object-answer-schemas.ts'
import { useAnswer } from '../api/use-answer.ts'
import { hrefTo, hrefWith } from '../app/address.ts'
import { ActorMark } from '../parts/actor-mark.tsx'
import { BegunMark } from '../parts/begun-mark.tsx'
import { CauseMark } from '../parts/cause-mark.tsx'
import { ChangedFields } from '../parts/changed-fields.tsx'
import { Notice, PartialNotice, Pending } from '../parts/notice.tsx'
import { useNow } from '../parts/use-now.ts'
import { ago, moment } from '../text/moment.ts'
import { objectName } from '../text/object-name.ts'
import { WhyPicture } from './why-picture.tsx'
import { type WhyStep, whySteps } from './why-steps.ts'

const ASK_AGAIN_MS = 5_000

/** Why an object is in its present state: what led to it, from the changes people began, as a picture and as a list. */
export function WhyPanel({ reference }: { reference: string }) {
  const answer = useAnswer<Why>(
    `/api/v1/objects/why?ref=${encodeURIComponent(reference)}`,
    () => ASK_AGAIN_MS,
  )
  const steps = useMemo(() => (answer.data === undefined ? [] : whySteps(answer.data)), [answer.data])
  if (answer.data === undefined || answer.isLoading) return <Pending answer={answer} what="what led to it" />
  if (steps.length === 0) {
    return answer.data.partial === undefined ? (
      <Notice title="No cause of it is known">
        <p>
          No span names this object in <code>cpid.wrote</code>, or retention has pruned those that did.{' '}
          <a href={hrefWith({ view: 'history' })}>All that happened</a> shows who observed it.
        </p>
      </Notice>
    ) : (
      <PartialNotice of={answer.data} />
    )
  }
  const numbers = new Map(steps.map(({ id, number }) => [id, number]))
  return (
    <>
      <PartialNotice of={answer.data} />
      <p class="panel-lead">
        What led to {answer.data.versions[0] === undefined ? 'it' : <Explained why={answer.data} />}, from
        those who began it.
        <NewerStatuses count={answer.data.newerStatuses ?? 0} />
      </p>
      {steps.length > 1 && <WhyPicture steps={steps} />}
      <ol class="why-steps" aria-label="What led to it, in the order in which it happened">
        {steps.map((step) => (
          <StepRow key={step.id} step={step} numbers={numbers} />
        ))}
      </ol>
      {answer.data.truncated && <p class="note">More writes led to it than are shown here.</p>}
    </>
  )
}

function Explained({ why }: { why: Why }) {
  const { version } = objectName(why.versions[0]?.object ?? '')
  return <>{version === undefined ? 'its last version' : `version ${version}`}</>
}

function NewerStatuses({ count }: { count: number }) {
  if (count === 0) return null
  return <> {count === 1 ? 'A newer version' : `${count} newer versions`} changed its status alone.</>
}

interface StepRowProps {
  step: WhyStep
  numbers: ReadonlyMap<string, number>
}

function StepRow({ step, numbers }: StepRowProps) {
  const nowMs = useNow()
  const { timestamp, title, kind, version, change } = step
  const root = change?.root ?? version?.cpid
  const from = step.from.flatMap((id) => numbers.get(id) ?? []).sort((a, b) => a - b)
  return (
    <li class={kind} id={`step-${step.number}`}>
      <span class="step-number number">{step.number}</span>
      <div>
        <div class="step-title">
          {change === undefined ? (
            <strong>{title}</strong>
          ) : (
            <a href={`/cascades/${change.root}`}>
              <strong>{title}</strong>
            </a>
          )}{' '}
          {change !== undefined && <BegunMark {...change} />}
        </div>
        <div class="step-facts">
          <time dateTime={timestamp} title={timestamp}>
            {moment(timestamp, nowMs)} <span class="muted">{ago(timestamp, nowMs)}</span>
          </time>
          {version !== undefined && (
            <>
              <ActorMark actor={version.user} service={version.service} />
              {kind === 'follows' && <CauseMark cause={version.cause} gap={version.gap} />}
              <a href={hrefTo('/objects', { ref: objectName(version.object).reference })}>
                version {objectName(version.object).version ?? 'not given'}
              </a>
            </>
          )}
          {change === undefined && root !== undefined && root !== null && (
            <a href={`/cpids/${root}?view=cascades`}>its change</a>
          )}
          {from.length > 0 && (
            <span class="muted">
              follows from {from.length > 6 ? `${from.length} of these` : from.join(', ')}
            </span>
          )}
        </div>
        <ChangedFields changed={version?.changed} />
      </div>
    </li>
  )
}
