package otlp

import (
	"context"
	"fmt"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"causeway/changes"
	"causeway/internal/seldom"
)

const lostItems = "cpid.instrumentation.lost_items"

// losses counts what was handed over, and what of it nobody took.
type losses struct {
	what                   string
	logged                 *seldom.Losses
	handed, taken, refused atomic.Int64
	hasEnded               atomic.Bool
}

func newLosses(what string) *losses {
	return &losses{what: what, logged: seldom.NewLosses(logr.Logger{}, time.Now)}
}

func (l *losses) exported(items int, err error) {
	refused := int64(items)
	if err == nil {
		refused = 0
	} else if some, ok := refusedIn(err); ok {
		refused = min(some, refused)
	}
	l.taken.Add(int64(items) - refused)
	l.refused.Add(refused)
	if refused > 0 {
		l.tell()
	}
}

// refusedIn says how many items were refused of a batch of which the others were taken; false where an error says nothing of that. The
// exporters tell a partial success, and a mere warning, as an error whose type is internal to them.
func refusedIn(err error) (int64, bool) {
	if value := reflect.ValueOf(err); value.Kind() == reflect.Struct {
		if rejected := value.FieldByName("RejectedItems"); rejected.CanInt() {
			return rejected.Int(), true
		}
	}
	switch wraps := err.(type) {
	case interface{ Unwrap() error }:
		return refusedIn(wraps.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range wraps.Unwrap() {
			if some, ok := refusedIn(one); ok {
				return some, true
			}
		}
	}
	return 0, false
}

// hand notes one that is handed over, for which there may be no room.
func (l *losses) hand() {
	l.handed.Add(1)
	l.tell()
}

func (l *losses) tell() {
	if lost := l.count(); lost > 0 && !l.hasEnded.Load() {
		l.logged.Tell(l.lost(), lost)
	}
}

func (l *losses) lost() string {
	return l.what + " are lost: nobody took them in time, or they were refused; see whether OTEL_EXPORTER_OTLP_ENDPOINT can be reached"
}

// count is how many are lost by now. As many as may wait still do, and those of the batch that is being tried.
func (l *losses) count() int64 {
	left := l.handed.Load() - l.taken.Load()
	if l.hasEnded.Load() {
		return left
	}
	refused := l.refused.Load()
	return refused + max(0, left-refused-mostWaiting-sdktrace.DefaultMaxExportBatchSize)
}

// countLosses has metrics tell of what is lost.
func countLosses(of ...*losses) {
	_, _ = otel.Meter(changes.Scope).Int64ObservableCounter(lostItems, metric.WithUnit("{item}"),
		metric.WithDescription("Spans and mergelogs that were dropped, since nobody took them in time."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			sum := int64(0)
			for _, one := range of {
				sum += one.count()
			}
			o.Observe(sum)
			return nil
		}))
}

// end says what is lost in the end.
func (l *losses) end() error {
	l.hasEnded.Store(true)
	if lost := l.count(); lost > 0 {
		l.logged.End(l.lost(), lost)
		return fmt.Errorf("%d %s of %d were not delivered", lost, l.what, l.handed.Load())
	}
	return nil
}

// flushed logs what is lost by now: whoever flushes may end soon, without a word.
func (l *losses) flushed(err error) error {
	l.logged.End(l.lost(), l.count())
	return err
}

type countedSpans struct {
	sdktrace.SpanProcessor
	losses *losses
}

func (c countedSpans) OnEnd(span sdktrace.ReadOnlySpan) {
	if span.SpanContext().IsSampled() {
		c.losses.hand()
	}
	c.SpanProcessor.OnEnd(span)
}

func (c countedSpans) ForceFlush(ctx context.Context) error {
	return c.losses.flushed(c.SpanProcessor.ForceFlush(ctx))
}

type countedRecords struct {
	sdklog.Processor
	losses *losses
}

func (c countedRecords) OnEmit(ctx context.Context, record *sdklog.Record) error {
	c.losses.hand()
	return c.Processor.OnEmit(ctx, record)
}

func (c countedRecords) ForceFlush(ctx context.Context) error {
	return c.losses.flushed(c.Processor.ForceFlush(ctx))
}
