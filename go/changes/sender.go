package changes

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"causeway/cpid"
	"causeway/internal/seldom"
)

// Attribute names that Causeway reads; they never change.
const (
	event            = "cpid.mergelog"
	attributeNew     = "cpid.new"
	attributeSources = "cpid.sources"
	attributeObject  = "cpid.object"
	attributeReason  = "cpid.reason"
	attributeWriter  = "cpid.writer"
	lostMergelogs    = "cpid.instrumentation.lost_mergelogs"
)

// sender passes mergelogs to the OpenTelemetry SDK: as log records, or as events of the active span if no logger is enabled. Mergelogs
// that neither accepts are counted as lost.
type sender struct {
	provider log.LoggerProvider
	losses   *seldom.Losses
	lost     atomic.Int64
	counter  sync.Once
}

func (s *sender) send(ctx context.Context, mergelog cpid.Mergelog, detail Detail, at time.Time) {
	s.counter.Do(s.countLosses)
	attributes := attributesOf(mergelog, detail)
	if !s.emit(ctx, mergelog, attributes, at) && !addEvent(ctx, attributes, at) {
		s.losses.Tell("mergelogs are lost: neither a logger nor a sampled span takes them; call otlp.Start, or register a logger provider",
			s.lost.Add(1))
	}
}

func (s *sender) countLosses() {
	_, _ = otel.Meter(Scope).Int64ObservableCounter(lostMergelogs, metric.WithUnit("{mergelog}"),
		metric.WithDescription("Mergelogs that neither a logger nor a sampled span took."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(s.lost.Load())
			return nil
		}))
}

func (s *sender) emit(ctx context.Context, mergelog cpid.Mergelog, attributes []attribute.KeyValue, at time.Time) bool {
	provider := s.provider
	if provider == nil {
		provider = otel.GetLoggerProvider()
	}
	logger := provider.Logger(Scope)
	asked := log.EnabledParameters{EventName: event}
	if !logger.Enabled(ctx, asked) {
		// A logger may drop records of unsampled spans, so the mergelog is sent without its span.
		ctx = trace.ContextWithSpan(ctx, nil)
		if !logger.Enabled(ctx, asked) {
			return false
		}
	}
	var record log.Record
	record.SetEventName(event)
	record.SetTimestamp(at)
	record.SetBody(attribute.StringValue(bodyOf(mergelog)))
	record.AddAttributes(attributes...)
	logger.Emit(ctx, record)
	return true
}

func addEvent(ctx context.Context, attributes []attribute.KeyValue, at time.Time) bool {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() || !span.SpanContext().IsSampled() {
		return false
	}
	span.AddEvent(event, trace.WithAttributes(attributes...), trace.WithTimestamp(at))
	return true
}

func attributesOf(mergelog cpid.Mergelog, detail Detail) []attribute.KeyValue {
	attributes := []attribute.KeyValue{
		attribute.String(attributeNew, mergelog.CPID),
		attribute.StringSlice(attributeSources, mergelog.Sources),
	}
	if object := detail.Object.String(); object != "" {
		attributes = append(attributes, attribute.String(attributeObject, object))
	}
	if detail.Reason != "" {
		attributes = append(attributes, attribute.String(attributeReason, detail.Reason))
	}
	if detail.Writer != "" {
		attributes = append(attributes, attribute.String(attributeWriter, detail.Writer))
	}
	return attributes
}

func bodyOf(mergelog cpid.Mergelog) string {
	if len(mergelog.Sources) == 0 {
		return fmt.Sprintf("change %s begins", mergelog.CPID)
	}
	return fmt.Sprintf("%d changes merge into %s", len(mergelog.Sources), mergelog.CPID)
}
