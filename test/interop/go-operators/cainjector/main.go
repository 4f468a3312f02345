// cert-manager's cainjector, from its module as it is released, as a part of the changes of its cluster. What is Causeway's stands
// between blank lines; nothing of cert-manager's is changed.
package main

import (
	"context"
	"log"
	"os"

	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"causeway"
	"causeway/otlp"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	ctx := ctrl.SetupSignalHandler()

	shutdown, err := otlp.Start(ctx, "cainjector")
	if err != nil {
		return err
	}
	defer func() { _ = shutdown(context.Background()) }()

	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(rest.AddUserAgent(config, "cainjector"), ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: "0"},
		Client:  client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
	})
	if err != nil {
		return err
	}

	mgr = causeway.WrapManager(mgr)

	if err := cainjector.RegisterAllInjectors(ctx, mgr, cainjector.SetupOptions{
		EnabledReconcilersFor: map[string]bool{
			cainjector.MutatingWebhookConfigurationName:   true,
			cainjector.ValidatingWebhookConfigurationName: true,
		},
	}); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
