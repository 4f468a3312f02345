/** Whether a cascade or trace is open or settled. Shown by word and shape, not by colour alone. */
export function StateMark({ state }: { state: 'open' | 'settled' }) {
  const meaning =
    state === 'open' ? 'More activity may arrive' : 'Nothing more has arrived for a while, so it is over'
  return (
    <span class={`state-mark ${state}`} title={meaning}>
      <span class="dot" aria-hidden="true" />
      {state}
    </span>
  )
}
