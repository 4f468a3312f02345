import { Notice } from '../parts/notice.tsx'
import { ServiceMark } from '../parts/service-mark.tsx'
import { duration } from '../text/duration.ts'
import type { PanelProps } from './panel-props.ts'

/** The chain of steps that decided how long the cascade took. */
export function CriticalPanel({ cascade, rows, chosen, onChoose }: PanelProps) {
  const { criticalPath } = cascade
  if (criticalPath === undefined || criticalPath.steps.length === 0) {
    return <Notice title="There is no critical path yet">It is worked out once spans have arrived.</Notice>
  }
  const { steps, durationMs } = criticalPath
  const part = (ms: number) => ({ width: `${durationMs === 0 ? 0 : (100 * ms) / durationMs}%` })
  const mostMs = Math.max(...steps.map(({ selfMs }) => selfMs))
  return (
    <>
      <p class="panel-lead">
        From the change to its last effect, {duration(durationMs)}: each step waited for the one before. To
        make the cascade faster, make one of these faster.
      </p>
      <div class="table-scroll">
        <table class="steps">
          <caption class="visually-hidden">Steps of the critical path, first to last</caption>
          <thead>
            <tr>
              <th class="number">#</th>
              <th>Step</th>
              <th>Service</th>
              <th class="number">Begins at</th>
              <th class="number">Waited</th>
              <th class="number">Itself</th>
              <th>Of the whole</th>
            </tr>
          </thead>
          <tbody>
            {steps.map((step, index) => {
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
                    {step.selfMs === mostMs && mostMs > 0 ? (
                      <strong>{duration(step.selfMs)} longest</strong>
                    ) : (
                      duration(step.selfMs)
                    )}
                  </td>
                  <td class="share" aria-hidden="true">
                    <span class="bar">
                      <span class="wait" style={part(step.waitMs)} />
                      <span class="self" style={part(step.selfMs)} />
                    </span>
                  </td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
      <p class="muted hint">Full bars: the step itself. Hollow bars: the wait before it.</p>
    </>
  )
}
