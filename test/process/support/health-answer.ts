import type { CausewaySettings } from './causeway-settings.ts'

/** What the health check answers. */
export async function healthAnswer({ ports }: CausewaySettings): Promise<{ code: number; reasons: string }> {
  const response = await fetch(`http://127.0.0.1:${ports.health}/`)
  const { reasons = [] } = (await response.json()) as { reasons?: string[] }
  return { code: response.status, reasons: reasons.join('\n') }
}
