const NAMES = ['ground', 'panel', 'line', 'edge', 'ink', 'muted', 'link', 'bad'] as const

/** The colours of the page, in a form that a canvas accepts. */
export type CanvasColours = Record<(typeof NAMES)[number], string> & { font: string }

/** Reads the colours that apply to the element. */
export function canvasColours(within: HTMLElement): CanvasColours {
  const probe = document.createElement('span')
  within.append(probe)
  const entries = NAMES.map((name) => {
    probe.style.color = `var(--${name})`
    return [name, getComputedStyle(probe).color] as const
  })
  const font = getComputedStyle(within).fontFamily
  probe.remove()
  return { ...(Object.fromEntries(entries) as Record<(typeof NAMES)[number], string>), font }
}
