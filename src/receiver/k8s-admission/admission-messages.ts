import type { DropReason } from '../../listeners/connections.ts'
import type { UnixNanos } from '../../model/clock.ts'
import type { Checked } from '../../trust/authenticator.ts'
import type { ListenerSettings } from '../listening/receiver-settings.ts'

/** What an admission thread is started with. */
export interface AdmissionThreadData {
  /** Without what cannot be handed to another thread. */
  readonly listener: Omit<ListenerSettings, 'authenticator' | 'onTrouble'>
  readonly maxBytes: number
  /** Where credentials are asked for: which header carries them, and what is said to whoever shows none. */
  readonly credentials?: { readonly header: string; readonly challenge: string }
}

export type ToAdmission =
  /** What a credential is worth that was asked about. */
  | { kind: 'checked'; id: number; checked: Checked }
  /** A review is not held any more. */
  | { kind: 'released'; id: number }
  | { kind: 'stop' }

export type FromAdmission =
  | { kind: 'ready' }
  | { kind: 'fatal'; reason: string }
  /** A review that was answered; the bytes are handed over. */
  | {
      kind: 'answered'
      id: number
      body: Uint8Array<ArrayBuffer>
      seenNs: UnixNanos
      traceparent: string
    }
  | { kind: 'check'; id: number; value: string | undefined; peer: string | undefined }
  | { kind: 'unreadable'; reason: string }
  /** A review was answered and is not looked at. */
  | { kind: 'lost' }
  | { kind: 'turnedAway'; reason: string }
  | { kind: 'dropped'; reason: DropReason }
  | { kind: 'unread' }
  | { kind: 'trouble'; reason: string }
  /** So many are open now. */
  | { kind: 'connections'; count: number }
  | { kind: 'stopped' }
