import type { CausewaySettings } from './causeway-settings.ts'

type Asked = { ports: Pick<CausewaySettings['ports'], 'health'> }

/** What the health check answers. */
export async function healthAnswer({ ports }: Asked): Promise<{ code: number; reasons: string }> {
  const response = await fetch(`http://127.0.0.1:${ports.health}/`)
  const { reasons = [] } = (await response.json()) as { reasons?: string[] }
  return { code: response.status, reasons: reasons.join('\n') }
}

/** Whether the health check answers 200; false too where nothing answers. */
export async function isHealthy({ ports }: Asked): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${ports.health}/`)
    await response.arrayBuffer()
    return response.status === 200
  } catch {
    return false
  }
}
