import type { METRICS } from '../src/platform/metric-catalogue.ts'

/** Metrics of one question that an operator asks, with what is normal and what it means when they change. */
interface MetricsOfQuestion {
  readonly question: string
  readonly note?: string
  readonly rows: readonly PracticeRow[]
}

/** The metrics; what is normal; what it means when they change. Both may be Markdown. */
type PracticeRow = readonly [names: readonly (keyof typeof METRICS)[], normal: string, changed: string]

export const METRICS_IN_PRACTICE: readonly MetricsOfQuestion[] = [
  {
    question: 'Is it receiving?',
    rows: [
      [
        [
          'otelcol_receiver_accepted_spans',
          'otelcol_receiver_accepted_log_records',
          'otelcol_receiver_accepted_metric_points',
        ],
        'Follow the work of the cluster',
        '0: no sender reaches it. See [nothing arrives](../operations.md#nothing-arrives)',
      ],
      [
        [
          'otelcol_receiver_refused_spans',
          'otelcol_receiver_refused_log_records',
          'otelcol_receiver_refused_metric_points',
        ],
        'Flat',
        'Items refused for good, and **one for each request** that was refused whole, unread',
      ],
      [
        [
          'otelcol_receiver_failed_spans',
          'otelcol_receiver_failed_log_records',
          'otelcol_receiver_failed_metric_points',
        ],
        'Absent',
        'Requests (one each) that could not be stored; senders retry. See `cpid_storage_fault` or the log',
      ],
      [
        ['cpid_refused_requests'],
        'Absent, or short bursts',
        'All for now, by `reason`: `memory`, `in_flight`, `flow`, `time`',
      ],
      [
        ['cpid_connections', 'cpid_connections_limit'],
        'As many as senders',
        'A steady rise: a sender opens connections and never closes them',
      ],
      [
        ['cpid_dropped_connections'],
        'Absent',
        'By `reason`: `limit` is reached, an `address` has its share, a `stranger` shows no credential',
      ],
      [['cpid_unread_answers'], 'Absent', 'A client asks and does not read the answer'],
      [['cpid_unauthenticated_requests'], 'Absent', 'A sender with an old token, or a stranger'],
      [
        ['cpid_filter_spans_dropped'],
        'Absent',
        'About half of the spans that a Kubernetes API server sends. `connectors::cpid::filter_spans: keep` keeps them',
      ],
      [
        ['cpid_pod_points_left_out'],
        'Absent',
        'Too many Pods are measured too often: a longer `collection_interval`, or fewer metrics',
      ],
      [['cpid_forbidden_items'], 'Absent', 'A sender sends what its rule forbids'],
      [
        ['cpid_requests_repeated'],
        'Few, after restarts',
        'Many: senders do not get their answers in time. Compare `cpid_commit_duration` with their timeouts',
      ],
      [
        ['cpid_flow_waiting_requests', 'cpid_flow_waiting_bytes'],
        'Near 0',
        'Which sender (`flow`: credential, cluster, service) has how much waiting',
      ],
      [['cpid_flow_limit_requests', 'cpid_flow_limit_bytes'], 'As configured', 'To compare with'],
      [
        ['cpid_flow_refused_requests'],
        'Absent, or 0',
        'One sender exceeds its share while others send, such as a controller that loops',
      ],
    ],
  },
  {
    question: 'Is it keeping up?',
    rows: [
      [
        ['cpid_link_lag'],
        '0 to hundreds; thousands in a burst',
        'Stored, not yet linked: traces come late, nothing is lost. From 500,000 on linking gets more time, so senders wait longer',
      ],
      [
        ['cpid_commits'],
        'Follows the requests',
        'Flat: nothing arrives. Far fewer than requests is good: many share a commit',
      ],
      [
        ['cpid_commit_duration'],
        'Milliseconds',
        'Senders wait for this. It rises with disk latency, large requests, and another program that holds the database',
      ],
      [
        ['cpid_in_flight_bytes', 'cpid_in_flight_limit_bytes'],
        'Far below the limit',
        'Near the limit: the disk or one core is saturated',
      ],
      [['cpid_waiting'], 'Back to near 0 within `wait`', 'Stays high: mergelogs or parents do not come'],
    ],
  },
  {
    question: 'Is it sending on?',
    rows: [
      [
        ['cpid_exporter_lag'],
        '0 to a few seconds',
        'The backend has taken nothing for so long. A start begins anew',
      ],
      [
        ['otelcol_exporter_queue_size'],
        'Near 0',
        'Rises with low lag: the backend is too slow. Rises with lag: it is away. The queue is on disk',
      ],
      [
        ['otelcol_exporter_in_flight_requests'],
        '0 to `num_consumers`',
        'Always at `num_consumers`: the backend answers slowly',
      ],
      [
        ['otelcol_exporter_sent_spans', 'otelcol_exporter_sent_log_records'],
        'A little above what arrives',
        'Flat while spans arrive: see lag. Many times what arrives: much fan-out',
      ],
      [
        ['otelcol_exporter_send_failed_spans', 'otelcol_exporter_send_failed_log_records'],
        'Flat',
        'Refused for good and skipped. `Dropping data` in the log says why',
      ],
      [
        ['cpid_archived_rows', 'cpid_unarchived_rows', 'cpid_archive_losses'],
        'Only with an archive: several rows for each span; the others are flat',
        'Flat while spans arrive: see lag. Unarchived: `Dropping data` in the log says which row ClickHouse cannot take. Losses: the log says what to do',
      ],
      [
        ['otelcol_exporter_sent_metric_points', 'otelcol_exporter_send_failed_metric_points'],
        'Only with `metrics/out` or `metrics/in`; failed is flat',
        'Failed with `metrics/out`: newer points were due first; they are cumulative. With `metrics/in`: the backend refused them',
      ],
    ],
  },
  {
    question: 'Is the graph healthy?',
    rows: [
      [
        ['cpid_mergelogs', 'cpid_merges'],
        'Follow the changes in the cluster',
        'Mergelogs flat while spans arrive: a controller or Collector lost its logs pipeline. Merges at 0: no controller reports merges',
      ],
      [['cpid_mergelogs_repeated'], 'Few', 'Senders retry, or a gateway sends twice'],
      [
        ['cpid_mergelogs_refused'],
        'Absent',
        'By `reason`; see [mergelogs are refused](../operations.md#mergelogs-are-refused)',
      ],
      [
        ['cpid_late_mergelogs', 'cpid_late_parents'],
        'Few',
        'Senders report later than `wait`: their spans also appear in traces of their own',
      ],
      [
        ['cpid_unattributed_spans', 'cpid_unattributed_log_records'],
        'All of kube-apiserver and kubelets; app logs',
        'Rises by what a controller sends: it lost its CPIDs',
      ],
      [['cpid_malformed_cpids'], '0', 'A sender writes something that is not a UUID into `cpid.id`'],
      [
        ['cpid_duplicate_spans', 'cpid_duplicate_log_records'],
        '0, or few after restarts',
        'A gateway sends twice with different batches; the first one counts',
      ],
      [
        ['cpid_cut_roots'],
        '0',
        'Changes descend from more than `max_fanout` open roots. Those traces lack this work',
      ],
      [
        ['cpid_beyond_share_spans'],
        '0',
        'With `senders`: other clusters filled their half of a trace. The rest stays in its original traces. Find the sender in `audit_spans`, and give it `join: own`',
      ],
      [
        ['cpid_own_id_spans'],
        '0',
        'A sender forges ids, or what Causeway sent comes back to it, as from another Causeway. A span that belongs nowhere else stays in its original trace',
      ],
      [
        ['cpid_left_out_spans'],
        '0',
        'Back links or late parents did not fit: see `max_trace_bytes` under [traces](limits.md#traces)',
      ],
      [
        ['cpid_traces_open'],
        'Changes begun in the last `settle_after`',
        'Rises and stays: activity never ends, such as a controller that reconciles in a circle',
      ],
      [
        ['cpid_traces_settled'],
        'Follows the roots, `settle_after` later',
        'Flat: nothing begins, or nothing ends',
      ],
      [['cpid_episodes'], 'Few', 'Activity after a cascade settled, or traces over their limits'],
      [['cpid_cascade_duration'], 'Your rollouts', 'How long cascades take. Exemplars lead to the trace'],
      [
        ['cpid_hop_latency'],
        'Milliseconds to seconds',
        'How long `service` waits before it acts on a written `kind`: a full work queue, a throttled client, a lost watch',
      ],
      [
        ['cpid_graph_cpids'],
        'Rises to what retention keeps',
        'Rises faster: a controller makes a change of everything it does',
      ],
      [
        ['cpid_graph_held_cpids'],
        '0, or as many as are open',
        'Rises: a backend is away, so changes beyond `max_cpids` or `max_age` are kept',
      ],
      [
        ['cpid_graph_tombstones'],
        'Rises to `max_cpids`, then constant',
        'Pruned CPIDs whose names are kept, so that late spans are not taken for new changes',
      ],
      [
        ['cpid_pruned_cpids', 'cpid_pruned_spans'],
        'Steady once the database is full',
        '0 with a full database: the oldest changes are unsent or open',
      ],
      [
        ['cpid_pruned_unsettled'],
        '0',
        "Cascades were lost before they were sent: `max_bytes` is too small for the backend's absence",
      ],
      [['cpid_pruned_unsent_items'], '0', 'The same for spans and log records without a CPID'],
    ],
  },
  {
    question: 'Does it see its clusters?',
    note: 'For receivers that watch clusters from outside.',
    rows: [
      [
        ['cpid_observations', 'cpid_inferred_writes'],
        'Grow with what the cluster does',
        'Flat: nothing is seen. `causeway doctor` asks the API server',
      ],
      [['cpid_inference_unchanged', 'cpid_observations_skipped'], 'Grow with heartbeats and reads', ''],
      [
        ['cpid_inference_gaps'],
        '0',
        'Versions were missed: a watch expired, or a receiver was away. Such writes are marked `cpid.gap`, and their causes may be wrong',
      ],
      [
        ['cpid_inference_unmatched_admissions'],
        'A few: requests refused after admission',
        'Most of them: the watch does not see these objects (rights, `namespaces`, `objects`), and who wrote is guessed',
      ],
      [['cpid_inferred_events'], 'Grows where Events are received', ''],
      [
        ['cpid_inference_waiting'],
        'What comes in within `who_wait`',
        'Growing: the store thread does not keep up; see [linking](../operations.md#linking-falls-behind)',
      ],
      [
        ['cpid_observations_unreadable'],
        '0',
        'A line, object or posted body cannot be read; the log says which. An audit log whose format is not `json` is unreadable as a whole',
      ],
      [
        ['cpid_observations_lost'],
        '0',
        'Admission requests came while memory or the store was full: all were allowed, and some writes show no user',
      ],
      [
        ['cpid_audit_log_lag_bytes'],
        'Near 0',
        'Grows: the API server writes faster than Causeway stores. Nothing is lost while rotated files stay uncompressed',
      ],
      [
        ['cpid_watches'],
        'Some an hour for each resource',
        'Many more: something on the way closes connections early',
      ],
      [
        ['cpid_relists'],
        '0',
        'Causeway or the API server was away for minutes. What came meanwhile is marked as a gap',
      ],
      [
        ['cpid_refused_resources'],
        '0, or what you leave out on purpose',
        'Rights are missing: `causeway doctor` says which line to add to the ClusterRole',
      ],
    ],
  },
  {
    question: 'Is it well itself?',
    rows: [
      [
        ['cpid_memory_used_bytes', 'cpid_memory_soft_limit_bytes', 'cpid_memory_limit_bytes'],
        '130 to 400 MiB used',
        'Above the soft limit requests are refused',
      ],
      [['cpid_memory_refusing'], '0', '1 for seconds in a burst is normal; for minutes: too little memory'],
      [['otelcol_process_memory_rss'], 'Some 60 MiB above what the limiter counts', 'Includes mapped files'],
      [
        ['otelcol_process_runtime_heap_alloc_bytes', 'otelcol_process_runtime_total_sys_memory_bytes'],
        'Some tens of MiB',
        "The main thread only. Watch the limiter's figure instead",
      ],
      [
        ['otelcol_process_cpu_seconds'],
        'Far below two cores',
        'A rate near 1 with a growing `cpid_link_lag`: the store thread uses a whole core',
      ],
      [['otelcol_process_uptime'], 'Rises', 'Falls: the process was restarted. A reload does not show here'],
      [
        ['cpid_storage_used_bytes'],
        'Rises to `max_bytes` or to what age keeps',
        'Above `max_bytes` for minutes: more comes than pruning removes',
      ],
      [
        ['cpid_storage_free_bytes'],
        'Constant once the file has its size',
        'Falls: the file, the write-ahead log, or another program',
      ],
      [
        ['cpid_storage_wal_bytes'],
        'Below 64 MiB',
        'Grows: some program reads without an end, such as a forgotten `sqlite3` shell',
      ],
      [
        ['cpid_checkpoint_thread_ends'],
        '0',
        'Commits may take longer for a minute. Rising: the log says why',
      ],
      [
        ['cpid_storage_fault'],
        'Absent, or 0',
        '1 by `kind`: `full`, `io`, `hangs`, `locked`, `readOnly`, `damaged`. See [the database cannot be used](../operations.md#the-database-cannot-be-used)',
      ],
      [['cpid_clock_leaps'], '0', 'See [a clock that leaps](../recovery.md#a-clock-that-leaps)'],
      [
        ['cpid_set_aside', 'cpid_set_aside_items'],
        'Absent; 0',
        'An item was skipped because of a fault: see [something was set aside](../operations.md#something-was-set-aside)',
      ],
      [['target_info'], '1', 'The version and instance; a new `service_instance_id` is a start or a reload'],
    ],
  },
]
