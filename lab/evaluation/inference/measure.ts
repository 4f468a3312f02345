import type { Options } from '../options.ts'
import { measureApps, type AppsData } from './measure-apps.ts'
import { measureHistories, type HistoriesData } from './measure-histories.ts'
import { measureRecording, type RecordingData } from './measure-recording.ts'

export interface InferenceData {
  histories: HistoriesData
  recording: RecordingData
  /** Why there are none, where the programs of a real cluster are not there. */
  apps: AppsData | { absent: string }
}

/** How right inference is: on histories of the demo's control plane, on a recording, on a real cluster. */
export async function measureInference({ histories }: Options, onStep: () => void): Promise<InferenceData> {
  return {
    histories: await measureHistories(histories, onStep),
    recording: measureRecording(),
    apps: await measureApps(),
  }
}
