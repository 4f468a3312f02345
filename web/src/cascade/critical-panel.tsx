import type { CriticalStep } from '../../../src/query/answer-schemas.ts'
import { useFirstRows } from '../parts/first-rows.tsx'
import { Notice } from '../parts/notice.tsx'
import { ServiceMark } from '../parts/service-mark.tsx'
import { TableScroll } from '../parts/table-scroll.tsx'
import { duration } from '../text/duration.ts'
import type { PanelProps } from './panel-props.ts'

/** The chain of steps that decided how long the cascade took. */
export function CriticalPanel({ cascade, rows, chosen, onChoose }: PanelProps) {
  const { criticalPath } = cascade
  const { shown, more } = useFirstRows(criticalPath.steps)
  if (criticalPath.steps.length === 0) {
    return <Notice title="There is no critical path yet">It appears when spans have arrived.</Notice>
  }
  const { durationMs, longestStep, steps } = criticalPath
  const begins = startsOf(steps)
  const percent = (ms: number) => `${durationMs === 0 ? 0 : (100 * ms) / durationMs}%`
  return (
    <>
      <p class="panel-lead">
        The time from the change to its last effect is {duration(durationMs)}. Each step waited for the step
        before it, so the cascade gets faster if one of these steps or waits does. During a wait Causeway saw
        nothing happen: if it is long, find out what the service waited for.
      </p>
      <TableScroll label="Steps of the critical path">
        <table class="steps">
          <caption class="visually-hidden">Steps of the critical path, first to last</caption>
          <thead>
            <tr>
              <th class="number">#</th>
              <th>Step</th>
              <th>Service</th>
              <th class="number">Begins at</th>
              <th class="number">Waited</th>
              <th class="number">Held up</th>
              <th>In time</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((step, index) => {
              const at = rows.byId.get(step.spanId) ?? -1
              return (
                <tr key={`${step.traceId}${step.spanId}`} class={at !== -1 && at === chosen ? 'chosen' : ''}>
                  <td class="number muted">{index + 1}</td>
                  <th scope="row">
                    <button
                      type="button"
                      class="quiet name"
                      onClick={() => onChoose(at)}
                      disabled={at === -1}
                    >
                      {step.name}
                    </button>
                  </th>
                  <td>
                    <ServiceMark service={step.service} />
                  </td>
                  <td class="number">{duration(step.offsetMs)}</td>
                  <td class="number">{step.waitMs > 0 ? duration(step.waitMs) : ''}</td>
                  <td class="number">
                    {index === longestStep ? (
                      <strong>longest {duration(step.heldMs)}</strong>
                    ) : (
                      duration(step.heldMs)
                    )}
                    {step.mostly !== null && (
                      <div class="muted">
                        <bdi>{step.mostly.name}</bdi> {duration(step.mostly.heldMs)}
                      </div>
                    )}
                  </td>
                  <td class="share" aria-hidden="true">
                    <span class="bar">
                      <span class="gap" style={{ width: percent(begins[index] ?? 0) }} />
                      {step.waitMs > 0 && <span class="wait" style={{ width: percent(step.waitMs) }} />}
                      <span class="self" style={{ width: percent(step.heldMs) }} />
                    </span>
                  </td>
                </tr>
              )
            })}
          </tbody>
        </table>
        {more}
      </TableScroll>
      <p class="muted hint">
        Held up is the time until the next step began, including the spans inside the step. Hollow bars are
        the waits before the steps. Together they are the whole time.
      </p>
    </>
  )
}

/** When the wait before each step began, from the start of the path. */
function startsOf(steps: readonly CriticalStep[]): number[] {
  let sum = 0
  return steps.map(({ waitMs, heldMs }) => {
    const begins = sum
    sum += waitMs + heldMs
    return begins
  })
}
