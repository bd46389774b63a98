package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// withToken puts the caller's token into every request.
type withToken string

func (t withToken) RoundTrip(request *http.Request) (*http.Response, error) {
	if t != "" {
		request = request.Clone(request.Context())
		request.Header.Set("Authorization", "Bearer "+string(t))
	}
	return http.DefaultTransport.RoundTrip(request)
}

func answerUser(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "yes"}}, nil
}

func answerModel(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: "text"}}, nil
}

func runClient(era, url, token string) {
	client := mcp.NewClient(&mcp.Implementation{Name: "matrix", Version: "1.0.0"}, &mcp.ClientOptions{
		ElicitationHandler:   answerUser,
		CreateMessageHandler: answerModel,
		ProgressNotificationHandler: func(_ context.Context, request *mcp.ProgressNotificationClientRequest) {
			tell(members{"event": "progress", "id": request.Params.ProgressToken})
		},
		ResourceUpdatedHandler: func(_ context.Context, request *mcp.ResourceUpdatedNotificationRequest) {
			tell(members{"event": "updated", "uri": request.Params.URI})
		},
	})
	transport := &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: withToken(token)}}
	options := &mcp.ClientSessionOptions{}
	if era == "legacy" {
		options.ProtocolVersion = legacy
	}
	ctx := context.Background()
	session, err := client.Connect(ctx, transport, options)
	if err != nil {
		tell(members{"event": "failed", "why": err.Error()})
		return
	}
	tell(members{"event": "connected", "version": session.InitializeResult().ProtocolVersion})
	var under sync.Mutex
	given := map[int]context.CancelFunc{}
	forEachOrder(func(wanted order) {
		under.Lock()
		defer under.Unlock()
		if wanted.Do == "cancel" {
			given[wanted.Of]()
			return
		}
		callCtx, giveUp := context.WithCancel(ctx)
		given[wanted.ID] = giveUp
		go func() {
			text, err := carryOut(callCtx, session, wanted)
			if err != nil {
				tell(members{"id": wanted.ID, "why": err.Error()})
			} else {
				tell(members{"id": wanted.ID, "text": text})
			}
		}()
	})
	session.Close()
}

func carryOut(ctx context.Context, session *mcp.ClientSession, wanted order) (string, error) {
	switch wanted.Do {
	case "call":
		params := &mcp.CallToolParams{Name: wanted.Name, Arguments: map[string]any{}}
		params.SetProgressToken(wanted.ID)
		result, err := session.CallTool(ctx, params)
		if err != nil {
			return "", err
		}
		text, isText := result.Content[0].(*mcp.TextContent)
		if !isText || result.IsError {
			return "", fmt.Errorf("%+v", result.Content[0])
		}
		return text.Text, nil
	case "read":
		result, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: wanted.Name})
		if err != nil {
			return "", err
		}
		return result.Contents[0].Text, nil
	case "prompt":
		result, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: wanted.Name})
		if err != nil {
			return "", err
		}
		return result.Messages[0].Content.(*mcp.TextContent).Text, nil
	case "watch":
		return "", session.Subscribe(ctx, &mcp.SubscribeParams{URI: wanted.Name})
	}
	return "", fmt.Errorf("what is %q?", wanted.Do)
}
