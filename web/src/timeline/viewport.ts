/** The visible part of the time. */
export interface Viewport {
  fromMs: number
  toMs: number
}

interface Whole {
  fromMs: number
  toMs: number
}

/** The closest zoom: about a nanosecond over the whole width. */
const NARROWEST_MS = 0.000_5
/** The margin on both sides of the whole. */
const MARGIN = 0.01

export function wholeView({ fromMs, toMs }: Whole): Viewport {
  const margin = (toMs - fromMs) * MARGIN
  return { fromMs: fromMs - margin, toMs: toMs + margin }
}

/** Zooms so that the moment stays where it is. A factor below 1 zooms in. */
export function zoomed({ fromMs, toMs }: Viewport, factor: number, aroundMs: number, whole: Whole): Viewport {
  const wide = Math.max(NARROWEST_MS, (toMs - fromMs) * factor)
  const share = (aroundMs - fromMs) / (toMs - fromMs)
  const from = aroundMs - wide * share
  return within({ fromMs: from, toMs: from + wide }, whole)
}

export function panned({ fromMs, toMs }: Viewport, byMs: number, whole: Whole): Viewport {
  return within({ fromMs: fromMs + byMs, toMs: toMs + byMs }, whole)
}

/** The time range with a margin on both sides. */
export function around(startMs: number, endMs: number, whole: Whole): Viewport {
  const least = (whole.toMs - whole.fromMs) / 1_000
  const room = Math.max(endMs - startMs, least) * 0.3
  return within({ fromMs: startMs - room, toMs: endMs + room }, whole)
}

/** Unchanged if the moments are visible, else moved as little as needed. */
export function showing(view: Viewport, startMs: number, endMs: number, whole: Whole): Viewport {
  if (endMs >= view.fromMs && startMs <= view.toMs) return view
  const middle = (startMs + endMs) / 2
  return panned(view, middle - (view.fromMs + view.toMs) / 2, whole)
}

/** As wide as requested, but not wider than the whole. */
export function within(view: Viewport, whole: Whole): Viewport {
  const most = wholeView(whole)
  const wide = Math.min(view.toMs - view.fromMs, most.toMs - most.fromMs)
  const fromMs = Math.min(Math.max(view.fromMs, most.fromMs), most.toMs - wide)
  return { fromMs, toMs: fromMs + wide }
}
